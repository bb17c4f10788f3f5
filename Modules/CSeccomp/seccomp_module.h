// libseccomp: filters of system calls, as programs that the kernel runs.
#pragma once
#include <seccomp.h>
