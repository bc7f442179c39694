#include "lib/target/tensor_core.h"

#include <algorithm>
#include <bit>

namespace tgc {
namespace {

using namespace dtypes;

// ---- NVIDIA: M = 16, N = 8

constexpr std::string_view kCudaOpts = "u0 l0 l0 l1 l1 l1 u1";

constexpr TensorCore cuda_81616(DType in, DType out) {
  return {{8, 16, 16}, 32, {8, 4, 4}, in, out, kCudaOpts,
          {{{"r1 r2 l2 l3 l4", "u1 r3", "l0 l1 u0 r0"}, {"r1 r2 u0 l0 l1", "r0 r3", "l2 l3 l4 u1"}}}};
}
constexpr TensorCore cuda_81632(DType in) {
  return {{8, 16, 32}, 32, {16, 8, 4}, in, float32, kCudaOpts,
          {{{"r2 r3 l2 l3 l4", "u1 r4", "l0 l1 u0 r0 r1"}, {"r2 r3 u0 l0 l1", "r1 r4", "l2 l3 l4 u1 r0"}}}};
}
constexpr TensorCore cuda_8168(DType out) {
  return {{8, 16, 8}, 32, {4, 2, 4}, float16, out, kCudaOpts,
          {{{"r1 r2 l2 l3 l4", "r0 u1", "l0 l1 u0"}, {"r1 r2 u0 l0 l1", "u1 r0", "l2 l3 l4"}}}};
}
constexpr TensorCore cuda_8168_tf32() {
  return {{8, 16, 8}, 32, {4, 2, 4}, float32, float32, kCudaOpts,
          {{{"r0 r1 l2 l3 l4", "u1 r2", "l0 l1 u0"}, {"r0 r1 u0 l0 l1", "u1 r2", "l2 l3 l4"}}}};
}

constexpr TensorCore kCuda89[] = {
    cuda_81616(float16, float32), cuda_81616(bfloat16, float32), cuda_81616(float16, float16), cuda_8168(float32),
    cuda_8168(float16),           cuda_8168_tf32(),              cuda_81632(fp8e4m3),          cuda_81632(fp8e5m2),
};
constexpr std::span kCuda80 = std::span(kCuda89).first(6);
constexpr std::span kCuda75 = std::span(kCuda89).subspan(3, 2);
constexpr TensorCore kPtx80[] = {cuda_81616(float16, float32), cuda_81616(float16, float16), cuda_8168(float32),
                                 cuda_8168(float16), cuda_8168_tf32()};

constexpr TensorCore rdna3_161616(DType in, DType out) {
  return {{16, 16, 16}, 32, {16, 16, 8}, in, out, "l0 l0 l0 l0 l1 u1 u1 u1",
          {{{"l4 u0 u1 u2 l0", "r1 r2 r3", "l1 l2 l3 r0"}, {"l0 l1 l2 l3 l4", "r1 r2 r3", "u0 u1 u2 r0"}}}};
}
constexpr TensorCore rdna4_161616(DType in, DType out) {
  return {{16, 16, 16}, 32, {8, 8, 8}, in, out, "l0 l0 l0 l0 u1 u1 u1 l1",
          {{{"u0 u1 u2 l4 r2", "r0 r1 r3", "l0 l1 l2 l3"}, {"l0 l1 l2 l3 r2", "r0 r1 r3", "l4 u0 u1 u2"}}}};
}
constexpr std::string_view kCdnaOpts = "l0 l0 l0 l0 u1 u1 l1 l1";
constexpr TensorCore cdna_161616(DType in) {
  return {{16, 16, 16}, 64, {4, 4, 4}, in, float32, kCdnaOpts,
          {{{"u0 u1 l4 l5 r2 r3", "r0 r1", "l0 l1 l2 l3"}, {"l0 l1 l2 l3 r2 r3", "r0 r1", "l4 l5 u0 u1"}}}};
}
constexpr TensorCore cdna_161632(DType in) {
  return {{16, 16, 32}, 64, {8, 8, 4}, in, float32, kCdnaOpts,
          {{{"u0 u1 l4 l5 r3 r4", "r0 r1", "l0 l1 l2 l3 r2"}, {"l0 l1 l2 l3 r3 r4", "r0 r1", "l4 l5 u0 u1 r2"}}}};
}
constexpr TensorCore cdna_1616128(DType in) {
  return {{16, 16, 128}, 64, {32, 32, 4}, in, float32, kCdnaOpts,
          {{{"u0 u1 l4 l5 r5 r6", "r0 r1", "l0 l1 l2 l3 r2 r3 r4"},
            {"l0 l1 l2 l3 r5 r6", "r0 r1", "l4 l5 u0 u1 r2 r3 r4"}}}};
}

constexpr TensorCore kRdna3[] = {rdna3_161616(float16, float32), rdna3_161616(float16, float16),
                                 rdna3_161616(bfloat16, float32)};
constexpr TensorCore kRdna4[] = {rdna4_161616(float16, float32), rdna4_161616(float16, float16),
                                 rdna4_161616(bfloat16, float32), rdna4_161616(bfloat16, bfloat16)};
constexpr TensorCore kCdna3[] = {cdna_161632(fp8e5m2), cdna_161632(fp8e4m3), cdna_161616(float16),
                                 cdna_161616(bfloat16)};
constexpr TensorCore kCdna4[] = {cdna_1616128(fp8e5m2), cdna_1616128(fp8e4m3), cdna_161632(fp8e5m2),
                                 cdna_161632(fp8e4m3),  cdna_161632(float16),  cdna_161632(bfloat16),
                                 cdna_161616(float16),  cdna_161616(bfloat16)};

constexpr TensorCore metal_888(DType in, DType out) {
  return {{8, 8, 8}, 32, {2, 2, 2}, in, out, "u0 l0 l1 l1 l0 l1",
          {{{"r1 l1 l2 r2 l4", "r0", "u0 l0 l3"}, {"l0 r0 r1 l3 r2", "u0", "l1 l2 l4"}}}};
}
constexpr TensorCore kMetal[] = {metal_888(float32, float32), metal_888(float16, float32), metal_888(float16, float16),
                                 metal_888(bfloat16, float32), metal_888(bfloat16, bfloat16)};

constexpr TensorCore kAmx[] = {{{16, 16, 1}, 1, {16, 16, 256}, float32, float32, "u0 u0 u0 u0 u1 u1 u1 u1",
                                {{{"", "u0 u1 u2 u3 u4 u5 u6 u7", ""}, {"", "u4 u5 u6 u7 u0 u1 u2 u3", ""}}}}};

constexpr TensorCore kIntel[] = {
    {{8, 8, 16}, 8, {16, 16, 8}, float16, float32, "l0 l0 l0 u1 u1 u1",
     {{{"r1 r2 r3", "u0 u1 u2", "l0 l1 l2 r0"}, {"l0 l1 l2", "r1 r2 r3", "u0 u1 u2 r0"}}}}};

int count_letter(std::span<const TcAxis> axes, char letter) {
  return int(std::count_if(axes.begin(), axes.end(), [&](TcAxis a) { return a.letter == letter; }));
}

void append_numbered_axes(std::vector<TcAxis>& out, char letter, int count) {
  for (int i = 0; i < count; i++) out.push_back({letter, i});
}

void append_parsed_axes(std::vector<TcAxis>& out, std::string_view text) {
  auto axes = parse_tc_axes(text);
  out.insert(out.end(), axes.begin(), axes.end());
}

}  // namespace

std::vector<TcAxis> parse_tc_axes(std::string_view text) {
  std::vector<TcAxis> out;
  for (size_t i = 0; i + 1 < text.size(); i += 3) out.push_back({text[i], text[i + 1] - '0'});
  return out;
}

std::string tc_axes_text(std::span<const TcAxis> axes) {
  std::string out;
  for (TcAxis a : axes) out += (out.empty() ? "" : " ") + std::string(1, a.letter) + std::to_string(a.number);
  return out;
}

std::string TensorCore::str() const {
  std::string out = "WMMA";
  for (int64_t d : dims) out += "_" + std::to_string(d);
  return out + "_" + std::string(dtype_in.name()) + "_" + std::string(dtype_out.name());
}

int TensorCore::num_reduce_axes() const { return std::bit_width(uint64_t(dims[2])) - 1; }

std::vector<TcAxis> TensorCore::base_shape() const {
  auto axes = parse_tc_axes(opts);
  int locals = 0, upcasts = 0;
  for (TcAxis& a : axes) a.number = a.letter == 'l' ? locals++ : upcasts++;
  append_numbered_axes(axes, 'r', num_reduce_axes());
  return axes;
}

std::vector<TcAxis> TensorCore::base_upcast_axes() const {
  std::vector<TcAxis> out;
  append_numbered_axes(out, 'r', num_reduce_axes());
  append_numbered_axes(out, 'u', count_letter(parse_tc_axes(opts), 'u'));
  std::reverse(out.begin(), out.end());
  return out;
}

std::array<std::vector<size_t>, 2> TensorCore::permutes(std::span<const TcAxis> shape) const {
  std::vector<TcAxis> from;
  auto own = parse_tc_axes(opts);
  append_numbered_axes(from, 'l', count_letter(own, 'l'));
  append_numbered_axes(from, 'u', count_letter(own, 'u'));
  append_numbered_axes(from, 'r', num_reduce_axes());

  std::array<std::vector<size_t>, 2> out;
  for (size_t operand = 0; operand < 2; operand++) {
    std::vector<TcAxis> to;
    append_parsed_axes(to, swizzle[operand].local);
    append_parsed_axes(to, swizzle[operand].upcast);
    append_parsed_axes(to, swizzle[operand].reduce);
    for (size_t i = 0; i < shape.size(); i++) {
      auto it = std::find(from.begin(), from.end(), shape[i]);
      if (it == from.end()) {
        out[operand].push_back(i);
        continue;
      }
      auto place = std::find(shape.begin(), shape.end(), to[size_t(it - from.begin())]);
      if (place == shape.end())
        throw Failure("tensor core " + str() + ": the shape " + tc_axes_text(shape) + " lacks an axis");
      out[operand].push_back(size_t(place - shape.begin()));
    }
  }
  return out;
}

namespace tensor_cores {

std::span<const TensorCore> cuda(int arch) {
  if (arch >= 89) return kCuda89;
  return arch >= 80 ? kCuda80 : arch >= 75 ? kCuda75 : std::span<const TensorCore>();
}

std::span<const TensorCore> ptx(int arch) { return arch >= 80 ? std::span<const TensorCore>(kPtx80) : cuda(arch); }

std::span<const TensorCore> amd(std::string_view arch) {
  if (arch == "gfx942") return kCdna3;
  if (arch == "gfx950") return kCdna4;
  return arch == "gfx1200" || arch == "gfx1201" ? std::span<const TensorCore>(kRdna4) : kRdna3;
}

std::span<const TensorCore> metal() { return kMetal; }
std::span<const TensorCore> amx() { return kAmx; }
std::span<const TensorCore> intel() { return kIntel; }

}  // namespace tensor_cores

}  // namespace tgc
