// The values of a kernel's variables are chosen in lib/validate; this header keeps the path that lib/bisect includes.
#pragma once
#include "lib/validate/kernel_variables.h"
