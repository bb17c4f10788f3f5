// What Swift's Glibc module does not show: one header per family of system calls.
#pragma once
#include "CLinux_credentials.h"
#include "CLinux_daemon.h"
#include "CLinux_files.h"
#include "CLinux_join.h"
#include "CLinux_library.h"
#include "CLinux_mounts.h"
#include "CLinux_namespaces.h"
#include "CLinux_process.h"
#include "CLinux_windows.h"
