// Tensor cores: which register and lane of a warp holds each element of A (M x K), B (K x N) and C (M x N), as
// tinygrad's runtime/ops_python.py defines it.
#pragma once
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"

namespace tgc::ref {

struct WmmaLayout {
  struct ElementLocation {  // number among the elements of a thread; number of the thread in the warp
    int16_t element, lane;
  };
  int n, m, k, threads;
  size_t elements_a, elements_b, elements_c;
  std::vector<ElementLocation> a, b, c;  // row-major: a[i * K + l], b[l * N + j], c[i * N + j]
};

// Parts of a WMMA's arg, and the numbers of elements per thread.
struct WmmaKey {
  std::string_view device;
  int threads, n, m, k;
  DType input_dtype;
  size_t elements_a, elements_b, elements_c;
};

// Throws Failure if there is no such tensor core.
const WmmaLayout* find_wmma_layout(const WmmaKey& key);

}  // namespace tgc::ref
