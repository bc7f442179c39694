// TGC_LANES: a vectorizable loop over the lanes i = 0 .. kLanes - 1. Iteration i must access only lane i's elements.
#pragma once

#if defined(__clang__)
#define TGC_LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < kLanes; i++)
#else
#define TGC_LANES _Pragma("GCC ivdep") for (int i = 0; i < kLanes; i++)
#endif
