#include "CFuse3.h"
