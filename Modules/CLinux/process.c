#include "CLinux_process.h"
