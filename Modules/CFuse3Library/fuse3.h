// libfuse's low-level API, at the version that every libfuse from 3.14 on still offers.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
