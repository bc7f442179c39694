// Tensor cores: which register and lane of a warp holds each element of A (M x K), B (K x N) and C (M x N), for each
// architecture, as tinygrad's runtime/ops_python.py defines it.
#pragma once
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"

namespace tgc::ref {

struct WmmaLayout {
  struct Place {  // number of an element among those of its thread; number of the thread in the warp
    int16_t element, lane;
  };
  int n, m, k, threads;
  size_t elements_a, elements_b, elements_c;  // number of elements per thread
  std::vector<Place> a, b, c;  // place of each element, row-major: a[i * K + l], b[l * N + j], c[i * N + j]
};

// The key of a layout: parts of a WMMA's arg, and the number of elements per thread of its sources.
struct WmmaKey {
  std::string_view device;  // "CUDA" or "NV", "AMD" or "HIP", "METAL", "INTEL", "CPU"
  int threads, n, m, k;
  DType in;
  size_t elements_a, elements_b, elements_c;
};

// Returns the layout, cached after the first call. Throws Failure if there is no such tensor core.
const WmmaLayout* find_wmma_layout(const WmmaKey& key);

}  // namespace tgc::ref
