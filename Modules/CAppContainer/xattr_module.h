// Extended attributes, which Swift's Glibc module leaves out.
#pragma once
#include <sys/xattr.h>
