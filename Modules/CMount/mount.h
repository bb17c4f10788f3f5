// libmount: the table in /run/mount/utab, where umount(8) finds who mounted what.
#pragma once
#include <libmount/libmount.h>
