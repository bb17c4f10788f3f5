// Processes: spawning, credentials, namespaces, Unix sockets.
#pragma once
