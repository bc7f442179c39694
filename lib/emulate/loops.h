// A loop over 32 lanes, kLanes, that the compiler makes vectors of: a lane reads and writes its own elements alone.
#pragma once

#if defined(__clang__)
#define TGC_LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < kLanes; i++)
#else
#define TGC_LANES _Pragma("GCC ivdep") for (int i = 0; i < kLanes; i++)
#endif
