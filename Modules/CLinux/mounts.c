#include "CLinux_mounts.h"
