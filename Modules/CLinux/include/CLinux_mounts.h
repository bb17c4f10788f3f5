// Mounts: open_tree, move_mount, mount_setattr and their constants.
#pragma once
