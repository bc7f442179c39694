#include "lib/runtime/ref/wmma.h"

#include <map>
#include <mutex>
#include <string>

#include "lib/runtime/ref/code.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

using Place = WmmaLayout::Place;
using Make = Place (*)(const WmmaKey& key, int row_or_column, int k);  // returns the place of A[row][k] or B[k][column]
using MakeC = Place (*)(const WmmaKey& key, int row, int column);

Place place(int element, int lane) { return {int16_t(element), int16_t(lane)}; }

struct Architecture {
  Make a, b;
  MakeC c;
};

// ---- NVIDIA: all shapes have M = 16 and N = 8, and the same layout of C
Place cuda_c(const WmmaKey&, int row, int col) { return place(col % 2 + row / 8 * 2, col / 2 + row % 8 * 4); }
// For K = 16 (16-bit elements) and K = 32 (8-bit elements), a thread holds `Pack` neighbors along K.
template <int Pack>
Place cuda_a(const WmmaKey&, int row, int k) {
  return place(k % Pack + row / 8 * Pack + k / (4 * Pack) * (2 * Pack), k / Pack % 4 + row % 8 * 4);
}
template <int Pack>
Place cuda_b(const WmmaKey&, int col, int k) { return place(k % Pack + k / (4 * Pack) * Pack, k / Pack % 4 + col * 4); }
Place cuda_half8_a(const WmmaKey&, int row, int k) { return place(k % 2 + row / 8 * 2, k / 2 + row % 8 * 4); }
Place cuda_half8_b(const WmmaKey&, int col, int k) { return place(k % 2, k / 2 + col * 4); }
Place cuda_tf32_a(const WmmaKey&, int row, int k) { return place(k / 4 * 2 + row / 8, k % 4 + row % 8 * 4); }
Place cuda_tf32_b(const WmmaKey&, int col, int k) { return place(k / 4, k % 4 + col * 4); }

// ---- Metal: 8 x 8 x 8 on 32 threads, two elements per thread; A, B and C have the same layout
Place metal(int i, int j) { return place(i % 2, i / 2 % 2 + j % 4 * 2 + i / 4 * 8 + j / 4 * 16); }
Place metal_a(const WmmaKey&, int row, int k) { return metal(k, row); }
Place metal_b(const WmmaKey&, int col, int k) { return metal(col, k); }
Place metal_c(const WmmaKey&, int row, int col) { return metal(col, row); }

// ---- AMD CDNA: 64 threads; each group of 16 threads holds a quarter of K
Place cdna_ab(const WmmaKey& key, int i, int k) { return place(k % (key.k / 4), k / (key.k / 4) * 16 + i); }
Place cdna_c(const WmmaKey&, int row, int col) { return place(row % 4, row / 4 * 16 + col); }
// ---- AMD RDNA4: 32 threads; quarters of K alternate between the halves of the warp
Place rdna4_ab(const WmmaKey&, int i, int k) {
  static constexpr int kElement[] = {0, 4, 4, 8}, kLane[] = {0, 16, 0, 16};
  return place(k - kElement[k / 4], i + kLane[k / 4]);
}
Place rdna4_c(const WmmaKey&, int row, int col) { return place(row % 8, row / 8 * 16 + col); }
// ---- AMD RDNA3: 32 threads; both halves of the warp hold the same A and B
Place rdna3_ab(const WmmaKey&, int i, int k) { return place(k, i); }
Place rdna3_c(const WmmaKey&, int row, int col) { return place(row / 2, row % 2 * 16 + col); }

Place intel_a(const WmmaKey&, int row, int k) { return place(k % 2 + row * 2, k / 2); }
Place intel_b(const WmmaKey&, int col, int k) { return place(k, col); }
Place intel_c(const WmmaKey&, int row, int col) { return place(row, col); }

// ---- Apple AMX: one thread; an outer product
Place amx_ab(const WmmaKey&, int i, int) { return place(i, 0); }
Place amx_c(const WmmaKey&, int row, int col) { return place(row * 16 + col, 0); }

const Architecture* find_architecture(const WmmaKey& key) {
  static constexpr Architecture kCuda16{cuda_a<2>, cuda_b<2>, cuda_c}, kCuda32{cuda_a<4>, cuda_b<4>, cuda_c},
      kCudaHalf8{cuda_half8_a, cuda_half8_b, cuda_c}, kCudaTf32{cuda_tf32_a, cuda_tf32_b, cuda_c},
      kMetal{metal_a, metal_b, metal_c}, kCdna{cdna_ab, cdna_ab, cdna_c}, kRdna4{rdna4_ab, rdna4_ab, rdna4_c},
      kRdna3{rdna3_ab, rdna3_ab, rdna3_c}, kIntel{intel_a, intel_b, intel_c}, kAmx{amx_ab, amx_ab, amx_c};
  if (key.device == "METAL") return &kMetal;
  if (key.device == "INTEL") return &kIntel;
  if (key.device == "CPU") return &kAmx;
  if (key.device == "AMD" || key.device == "HIP")
    return key.threads == 64 ? &kCdna : key.elements_a == 8 ? &kRdna4 : &kRdna3;
  if ((key.device != "CUDA" && key.device != "NV") || key.n != 8 || key.m != 16) return nullptr;
  if (key.k == 16) return &kCuda16;
  if (key.k == 32) return &kCuda32;
  if (key.k == 8) return key.in == dtypes::float32 ? &kCudaTf32 : &kCudaHalf8;
  return nullptr;
}

[[noreturn]] void unknown(const WmmaKey& key) {
  throw Failure("there is no tensor core of " + std::string(key.device) + " with N, M, K = " + std::to_string(key.n) +
                ", " + std::to_string(key.m) + ", " + std::to_string(key.k) + " and " + std::to_string(key.threads) +
                " threads");
}

WmmaLayout make_layout(const WmmaKey& key) {
  const Architecture* arch = find_architecture(key);
  if (!arch) unknown(key);
  WmmaLayout out{key.n, key.m, key.k, key.threads, key.elements_a, key.elements_b, key.elements_c, {}, {}, {}};
  for (int row = 0; row < key.m; row++)
    for (int k = 0; k < key.k; k++) out.a.push_back(arch->a(key, row, k));
  for (int k = 0; k < key.k; k++)
    for (int col = 0; col < key.n; col++) out.b.push_back(arch->b(key, col, k));
  for (int row = 0; row < key.m; row++)
    for (int col = 0; col < key.n; col++) out.c.push_back(arch->c(key, row, col));
  auto within = [&](const std::vector<Place>& places, size_t elements) {
    for (Place p : places)
      if (p.element < 0 || size_t(p.element) >= elements || p.lane < 0 || p.lane >= key.threads) unknown(key);
  };
  within(out.a, key.elements_a), within(out.b, key.elements_b), within(out.c, key.elements_c);
  return out;
}

float round_to(float v, Scalar kind) {
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
       {int64_t(key.threads), int64_t(key.n), int64_t(key.m), int64_t(key.k), int64_t(key.in.scalar_kind()),
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
    auto value = [&](const std::vector<int32_t>& registers, Place p) -> float& {
      return f.at<float>(registers[size_t(p.element)])[warp + p.lane];
    };
    for (size_t k = 0; k < a.size(); k++) a[k] = value(w.a, l.a[k]);
    for (size_t k = 0; k < b.size(); k++) b[k] = value(w.b, l.b[k]);
    for (int row = 0; row < l.m; row++)
      for (int col = 0; col < l.n; col++) {
        Place p = l.c[size_t(row * l.n + col)];
        double sum = 0;
        for (int k = 0; k < l.k; k++) sum += a[size_t(row * l.k + k)] * b[size_t(k * l.n + col)];
        value(w.d, p) = round_to(float(sum + double(value(w.c, p))), w.result_scalar);
      }
  }
  return i + 1;
}

}  // namespace tgc::ref
