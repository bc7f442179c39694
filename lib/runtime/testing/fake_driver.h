// Shared parts of the tests' fake drivers: a log of the calls, failures on request, and the kernel.
//   TGC_FAKE_LOG=FILE   appends the name and main arguments of most calls, one line per call
//   TGC_FAKE_FAIL=NAME  makes that function return an error; NAME may also be an object or a state that a fake driver
//                       names, such as "queue" or "no GPU"
#pragma once
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake {

[[gnu::format(printf, 1, 2)]] inline void log(const char* format, ...) {
  const char* path = std::getenv("TGC_FAKE_LOG");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputc('\n', file);
  std::fclose(file);
}

inline bool should_fail(const char* function) {
  const char* name = std::getenv("TGC_FAKE_FAIL");
  return name && std::strcmp(name, function) == 0;
}

// The fake GPUs' only kernel: out[i] = in[i] + n.
inline void run_kernel(float* out, const float* in, int n, size_t threads) {
  for (size_t i = 0; i < threads; i++) out[i] = in[i] + float(n);
}

}  // namespace fake
