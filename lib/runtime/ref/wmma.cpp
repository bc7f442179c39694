#include "lib/runtime/ref/wmma.h"

#include <map>
#include <mutex>
#include <string>

#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

using ElementLocation = WmmaLayout::ElementLocation;
// Returns the location of A[row][k] or B[k][column].
using OperandLocator = ElementLocation (*)(const WmmaKey& key, int row_or_column, int k);
using ResultLocator = ElementLocation (*)(const WmmaKey& key, int row, int column);

ElementLocation element_location(int element, int lane) { return {int16_t(element), int16_t(lane)}; }

struct TensorCoreArchitecture {
  OperandLocator a, b;
  ResultLocator c;
};

// ---- NVIDIA: all shapes have M = 16 and N = 8, and the same layout of C
ElementLocation cuda_c_location(const WmmaKey&, int row, int col) {
  return element_location(col % 2 + row / 8 * 2, col / 2 + row % 8 * 4);
}
// For K = 16 (16-bit elements) and K = 32 (8-bit elements), a thread holds `Pack` neighbors along K.
template <int Pack>
ElementLocation cuda_a_location(const WmmaKey&, int row, int k) {
  return element_location(k % Pack + row / 8 * Pack + k / (4 * Pack) * (2 * Pack), k / Pack % 4 + row % 8 * 4);
}
template <int Pack>
ElementLocation cuda_b_location(const WmmaKey&, int col, int k) {
  return element_location(k % Pack + k / (4 * Pack) * Pack, k / Pack % 4 + col * 4);
}
ElementLocation cuda_half8_a_location(const WmmaKey&, int row, int k) {
  return element_location(k % 2 + row / 8 * 2, k / 2 + row % 8 * 4);
}
ElementLocation cuda_half8_b_location(const WmmaKey&, int col, int k) {
  return element_location(k % 2, k / 2 + col * 4);
}
ElementLocation cuda_tf32_a_location(const WmmaKey&, int row, int k) {
  return element_location(k / 4 * 2 + row / 8, k % 4 + row % 8 * 4);
}
ElementLocation cuda_tf32_b_location(const WmmaKey&, int col, int k) {
  return element_location(k / 4, k % 4 + col * 4);
}

// ---- Metal: 8 x 8 x 8 on 32 threads, two elements per thread; A, B and C have the same layout
ElementLocation metal_location(int i, int j) {
  return element_location(i % 2, i / 2 % 2 + j % 4 * 2 + i / 4 * 8 + j / 4 * 16);
}
ElementLocation metal_a_location(const WmmaKey&, int row, int k) { return metal_location(k, row); }
ElementLocation metal_b_location(const WmmaKey&, int col, int k) { return metal_location(col, k); }
ElementLocation metal_c_location(const WmmaKey&, int row, int col) { return metal_location(col, row); }

// ---- AMD CDNA: 64 threads; each group of 16 threads holds a quarter of K
ElementLocation cdna_ab_location(const WmmaKey& key, int i, int k) {
  return element_location(k % (key.k / 4), k / (key.k / 4) * 16 + i);
}
ElementLocation cdna_c_location(const WmmaKey&, int row, int col) {
  return element_location(row % 4, row / 4 * 16 + col);
}
// ---- AMD RDNA4: 32 threads; quarters of K alternate between the halves of the warp
ElementLocation rdna4_ab_location(const WmmaKey&, int i, int k) {
  static constexpr int kElement[] = {0, 4, 4, 8}, kLane[] = {0, 16, 0, 16};
  return element_location(k - kElement[k / 4], i + kLane[k / 4]);
}
ElementLocation rdna4_c_location(const WmmaKey&, int row, int col) {
  return element_location(row % 8, row / 8 * 16 + col);
}
// ---- AMD RDNA3: 32 threads; both halves of the warp hold the same A and B
ElementLocation rdna3_ab_location(const WmmaKey&, int i, int k) { return element_location(k, i); }
ElementLocation rdna3_c_location(const WmmaKey&, int row, int col) {
  return element_location(row / 2, row % 2 * 16 + col);
}

ElementLocation intel_a_location(const WmmaKey&, int row, int k) { return element_location(k % 2 + row * 2, k / 2); }
ElementLocation intel_b_location(const WmmaKey&, int col, int k) { return element_location(k, col); }
ElementLocation intel_c_location(const WmmaKey&, int row, int col) { return element_location(row, col); }

// ---- Apple AMX: one thread; an outer product
ElementLocation amx_ab_location(const WmmaKey&, int i, int) { return element_location(i, 0); }
ElementLocation amx_c_location(const WmmaKey&, int row, int col) { return element_location(row * 16 + col, 0); }

const TensorCoreArchitecture* find_architecture(const WmmaKey& key) {
  static constexpr TensorCoreArchitecture kCuda16{cuda_a_location<2>, cuda_b_location<2>, cuda_c_location},
      kCuda32{cuda_a_location<4>, cuda_b_location<4>, cuda_c_location},
      kCudaHalf8{cuda_half8_a_location, cuda_half8_b_location, cuda_c_location},
      kCudaTf32{cuda_tf32_a_location, cuda_tf32_b_location, cuda_c_location},
      kMetal{metal_a_location, metal_b_location, metal_c_location},
      kCdna{cdna_ab_location, cdna_ab_location, cdna_c_location},
      kRdna4{rdna4_ab_location, rdna4_ab_location, rdna4_c_location},
      kRdna3{rdna3_ab_location, rdna3_ab_location, rdna3_c_location},
      kIntel{intel_a_location, intel_b_location, intel_c_location},
      kAmx{amx_ab_location, amx_ab_location, amx_c_location};
  if (key.device == "METAL") return &kMetal;
  if (key.device == "INTEL") return &kIntel;
  if (key.device == "CPU") return &kAmx;
  if (key.device == "AMD" || key.device == "HIP")
    return key.threads == 64 ? &kCdna : key.elements_a == 8 ? &kRdna4 : &kRdna3;
  if ((key.device != "CUDA" && key.device != "NV") || key.n != 8 || key.m != 16) return nullptr;
  if (key.k == 16) return &kCuda16;
  if (key.k == 32) return &kCuda32;
  if (key.k == 8) return key.input_dtype == dtypes::float32 ? &kCudaTf32 : &kCudaHalf8;
  return nullptr;
}

[[noreturn]] void throw_unknown_tensor_core(const WmmaKey& key) {
  throw Failure("there is no tensor core of " + std::string(key.device) + " with N, M, K = " + std::to_string(key.n) +
                ", " + std::to_string(key.m) + ", " + std::to_string(key.k) + " and " + std::to_string(key.threads) +
                " threads");
}

WmmaLayout make_layout(const WmmaKey& key) {
  const TensorCoreArchitecture* arch = find_architecture(key);
  if (!arch) throw_unknown_tensor_core(key);
  WmmaLayout out{key.n, key.m, key.k, key.threads, key.elements_a, key.elements_b, key.elements_c, {}, {}, {}};
  for (int row = 0; row < key.m; row++)
    for (int k = 0; k < key.k; k++) out.a.push_back(arch->a(key, row, k));
  for (int k = 0; k < key.k; k++)
    for (int col = 0; col < key.n; col++) out.b.push_back(arch->b(key, col, k));
  for (int row = 0; row < key.m; row++)
    for (int col = 0; col < key.n; col++) out.c.push_back(arch->c(key, row, col));
  auto within = [&](const std::vector<ElementLocation>& places, size_t elements) {
    for (ElementLocation p : places)
      if (p.element < 0 || size_t(p.element) >= elements || p.lane < 0 || p.lane >= key.threads)
        throw_unknown_tensor_core(key);
  };
  within(out.a, key.elements_a), within(out.b, key.elements_b), within(out.c, key.elements_c);
  return out;
}

float round_to_scalar(float v, Scalar kind) {
  switch (kind) {
    case Scalar::Float16: return round_f16(v);
    case Scalar::BFloat16: return round_bf16(v);
    default: return v;
  }
}

}  // namespace

const WmmaLayout* find_wmma_layout(const WmmaKey& key) {
  static std::mutex mutex;
  static std::map<std::string, WmmaLayout> layouts;
  std::string name(key.device);
  for (int64_t part :
       {int64_t(key.threads), int64_t(key.n), int64_t(key.m), int64_t(key.k), int64_t(key.input_dtype.scalar_kind()),
        int64_t(key.elements_a), int64_t(key.elements_b), int64_t(key.elements_c)})
    name += " " + std::to_string(part);
  std::lock_guard lock(mutex);
  auto it = layouts.find(name);
  if (it == layouts.end()) it = layouts.emplace(name, make_layout(key)).first;
  return &it->second;
}

// Computes products and sums in double; rounds the result to float32, then to the dtype of the output.
const RefInstruction* run_wmma(RefFrame& f, const RefInstruction* i) {
  const WmmaOperands& w = f.wmmas[i->immediate];
  const WmmaLayout& l = *w.wmma_layout;
  const int64_t lanes = w.is_varying ? f.num_lanes : 1;
  std::vector<double> a(l.a.size()), b(l.b.size());
  for (int64_t warp = 0; warp + l.threads <= lanes; warp += l.threads) {
    auto value = [&](const std::vector<int32_t>& registers, ElementLocation p) -> float& {
      return f.register_at<float>(registers[size_t(p.element)])[warp + p.lane];
    };
    for (size_t k = 0; k < a.size(); k++) a[k] = value(w.a, l.a[k]);
    for (size_t k = 0; k < b.size(); k++) b[k] = value(w.b, l.b[k]);
    for (int row = 0; row < l.m; row++)
      for (int col = 0; col < l.n; col++) {
        ElementLocation p = l.c[size_t(row * l.n + col)];
        double sum = 0;
        for (int k = 0; k < l.k; k++) sum += a[size_t(row * l.k + k)] * b[size_t(k * l.n + col)];
        value(w.d, p) = round_to_scalar(float(sum + double(value(w.c, p))), w.result_scalar);
      }
  }
  return i + 1;
}

}  // namespace tgc::ref
