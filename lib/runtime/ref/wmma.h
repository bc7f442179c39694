// Tensor cores: how the elements of A (M x K), B (K x N) and C (M x N) lie in the registers of a warp's lanes, for
// every architecture tinygrad knows (its definition is runtime/ops_python.py),
// and the instruction that multiplies them.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"

namespace tgc::ref {

struct WmmaLayout {
  struct Place {
    int16_t element, lane;
  };
  int n, m, k, threads;
  size_t elements_a, elements_b, elements_c;  // per thread
  std::vector<Place> a, b, c;                 // row-major: a[i * k + l], b[l * n + j], c[i * n + j]
};

// What identifies a layout: the parts of a WMMA's arg, and the elements per thread of its sources.
struct WmmaKey {
  std::string_view device;  // "CUDA", "AMD", "METAL", "INTEL", "CPU"
  int threads, n, m, k;
  DType in;
  size_t elements_a, elements_b, elements_c;
};

// The layout, made when first asked for and kept. Throws Failure when there is none.
const WmmaLayout* find_wmma_layout(const WmmaKey& key);

}  // namespace tgc::ref
