// Matrix instructions: WMMA of gfx11 and gfx12, MFMA of gfx942. Sums are computed in double and rounded once.
#include <charconv>

#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

// The distribution of D = A * B + C (A is m x k, B is k x n) over lanes. A lane holds elements of row lane % m of A and
// of column lane % n of B.
struct MatrixLayout {
  uint32_t m = 16, n = 16, k = 16;
  uint32_t elements_per_lane = 16;     // number of elements of A, and of B, that a lane holds
  bool has_duplicate_lanes = false;   // gfx11: the upper lanes hold copies of the lower lanes' elements
  GpuFamily family = GpuFamily::Gfx11;
  bool packs_result = false;  // gfx12: a register holds two 16-bit results

  // Returns the k index of a lane's element: its column in A or its row in B.
  uint32_t k_of_element(uint32_t lane, uint32_t element) const {
    return has_duplicate_lanes ? element : lane / m * elements_per_lane + element;
  }
  // Returns the row of a lane's result element, whose column is lane % n.
  uint32_t row_of_result(uint32_t lane, uint32_t element) const {
    if (family == GpuFamily::Gfx11) return 2 * element + lane / 16;
    if (family == GpuFamily::Gfx12) return element + 8 * (lane / 16);
    return element / 4 * (4 * 64 / n) + 4 * (lane / n) + element % 4;
  }
};

enum class ElementType : uint8_t { F16, Bf16, F32, I8, U8, Fp8, Bf8, Fp8Fnuz, Bf8Fnuz };

float read_element(const Wave& w, uint32_t register_index, uint32_t lane, uint32_t n, ElementType type) {
  switch (type) {
    case ElementType::F16: return half_to_float(uint16_t(w.lane(register_index + n / 2, lane) >> (16 * (n & 1))));
    case ElementType::Bf16: return bf16_to_float(uint16_t(w.lane(register_index + n / 2, lane) >> (16 * (n & 1))));
    case ElementType::F32: return std::bit_cast<float>(w.lane(register_index + n, lane));
    default: break;
  }
  auto byte = uint8_t(w.lane(register_index + n / 4, lane) >> (8 * (n & 3)));
  switch (type) {
    case ElementType::I8: return int8_t(byte);
    case ElementType::Fp8: return float(decode_float(byte, kE4m3));
    case ElementType::Bf8: return float(decode_float(byte, kE5m2));
    case ElementType::Fp8Fnuz: return float(decode_float(byte, kE4m3Fnuz));
    case ElementType::Bf8Fnuz: return float(decode_float(byte, kE5m2Fnuz));
    default: return byte;
  }
}

struct MatrixProduct {
  MatrixLayout layout;
  ElementType to = ElementType::F32, a_type = ElementType::F16, b_type = a_type;
  bool is_integer = false;
};

// All shapes, indexed by Op::num_words.
std::vector<MatrixProduct>& matrix_products() {
  static std::vector<MatrixProduct> all;
  return all;
}

void run_matrix_product(Wave& w, const Op& o) {
  const MatrixProduct& product = matrix_products()[o.num_words];
  const MatrixLayout& l = product.layout;
  constexpr uint32_t kMost = 32;  // upper bound of m, n and k
  float a[kMost * kMost], b[kMost * kMost];
  double sum[kMost * kMost];
  uint32_t lanes = w.num_halves * kNumLanes, registers = l.m * l.n / lanes;
  for (uint32_t lane = 0; lane < (l.has_duplicate_lanes ? l.m : lanes); lane++)
    for (uint32_t e = 0; e < l.elements_per_lane; e++) {
      uint32_t k = l.k_of_element(lane, e);
      a[lane % l.m * l.k + k] = read_element(w, o.a.register_index, lane, e, product.a_type);
      b[k * l.n + lane % l.n] = read_element(w, o.b.register_index, lane, e, product.b_type);
    }
  bool is_half = product.to != ElementType::F32, packs = is_half && l.packs_result;
  auto each_result = [&](auto f) {
    for (uint32_t e = 0; e < registers; e++)
      for (uint32_t lane = 0; lane < lanes; lane++)
        f(lane, packs ? e / 2 : e, packs ? 16 * (e & 1) : 0, sum[l.row_of_result(lane, e) * l.n + lane % l.n]);
  };
  each_result([&](uint32_t lane, uint32_t at, uint32_t shift, double& to) {
    u32 before = o.c.is_vector ? w.lane(o.c.register_index + at, lane) : w.scalar_registers[o.c.register_index];
    to = product.is_integer           ? double(int32_t(before))
         : product.to == ElementType::F32 ? std::bit_cast<float>(before)
         : product.to == ElementType::F16 ? half_to_float(uint16_t(before >> shift))
                                    : bf16_to_float(uint16_t(before >> shift));
  });
  for (uint32_t row = 0; row < l.m; row++)
    for (uint32_t k = 0; k < l.k; k++)
      for (uint32_t column = 0; column < l.n; column++)
        sum[row * l.n + column] += double(a[row * l.k + k]) * b[k * l.n + column];
  each_result([&](uint32_t lane, uint32_t at, uint32_t shift, double& from) {
    u32& to = w.lane(o.to + at, lane);
    if (product.is_integer) to = u32(int64_t(from));
    else if (!is_half) to = std::bit_cast<u32>(float(from));
    else
      to = (to & ~(0xffffu << shift)) | encode_float(from, product.to == ElementType::F16 ? kHalfLayout : kBfloatLayout)
                                            << shift;
  });
}

// Parses the three numbers of "16x16x32".
bool parse_shape(std::string_view text, MatrixLayout& to) {
  uint32_t* numbers[] = {&to.m, &to.n, &to.k};
  for (uint32_t* n : numbers) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *n);
    if (error != std::errc()) return false;
    text.remove_prefix(size_t(end - text.data()) + (n == &to.k || end == text.data() + text.size() ? 0 : 1));
  }
  return true;
}

void build_matrix(CodeBuilder& b) {
  b.allow_modifiers({});
  const MatrixProduct& product = matrix_products()[b.row->count];
  const MatrixLayout& l = product.layout;
  uint32_t lanes = b.code.num_halves * kNumLanes;
  if ((l.family == GpuFamily::Gfx9) != (b.code.num_halves == 2)) b.throw_error("not supported in waves of this size");
  uint32_t from = l.elements_per_lane *
                  (product.a_type == ElementType::F32    ? 4
                   : product.a_type <= ElementType::Bf16 ? 2
                                                     : 1) /
                  4;
  uint32_t to = l.m * l.n / lanes / (l.packs_result && product.to != ElementType::F32 ? 2 : 1);
  Op op = b.make_op(b.row->run_op);
  op.num_words = b.row->count;
  op.to = b.vector_register(b.operand(0), to);
  op.a = SourceOperand{.register_index = b.vector_register(b.operand(1), from), .is_vector = true};
  op.b = SourceOperand{.register_index = b.vector_register(b.operand(2), from), .is_vector = true};
  if (b.operand(3).kind == Operand::Vector)
    op.c = SourceOperand{.register_index = b.vector_register(b.operand(3), to), .is_vector = true};
  else op.c = b.source_operand(b.operand(3), Type::F32);
  b.emit_op(op);
}

void add_matrix_row(OpcodeTable& t, const std::string& name, MatrixProduct product) {
  matrix_products().push_back(product);
  add_row(t, name,
          {.run_op = run_matrix_product,
           .count = uint8_t(matrix_products().size() - 1),
           .is_vector = true,
           .build_ops = build_matrix});
}

}  // namespace

void add_matrix_rows(OpcodeTable& t) {
  struct WmmaTypes {
    const char *to, *from;
    ElementType to_type, from_type;
  };
  constexpr WmmaTypes kWmma[] = {{"f32", "f16", ElementType::F32, ElementType::F16},
                                 {"f32", "bf16", ElementType::F32, ElementType::Bf16},
                                 {"f16", "f16", ElementType::F16, ElementType::F16},
                                 {"bf16", "bf16", ElementType::Bf16, ElementType::Bf16}};
  for (const WmmaTypes& k : kWmma) {
    MatrixProduct product{
        .layout = {.has_duplicate_lanes = true}, .to = k.to_type, .a_type = k.from_type, .b_type = k.from_type};
    add_matrix_row(t, std::string("v_wmma_") + k.to + "_16x16x16_" + k.from, product);
    product.layout = {.elements_per_lane = 8, .family = GpuFamily::Gfx12, .packs_result = true};
    add_matrix_row(t, std::string("gfx12:v_wmma_") + k.to + "_16x16x16_" + k.from, product);
  }
  struct Mfma {
    const char* name;
    ElementType a_type;
    bool is_integer;
  };
  constexpr Mfma kMfma[] = {
      {"f32_16x16x16_f16", ElementType::F16, false},   {"f32_32x32x8_f16", ElementType::F16, false},
      {"f32_16x16x16_bf16", ElementType::Bf16, false}, {"f32_32x32x8_bf16", ElementType::Bf16, false},
      {"f32_16x16x4_f32", ElementType::F32, false},    {"f32_32x32x2_f32", ElementType::F32, false},
      {"i32_16x16x32_i8", ElementType::I8, true},      {"i32_32x32x16_i8", ElementType::I8, true},
  };
  for (const Mfma& m : kMfma) {
    MatrixProduct product{
        .layout = {.family = GpuFamily::Gfx9}, .a_type = m.a_type, .b_type = m.a_type, .is_integer = m.is_integer};
    parse_shape(std::string_view(m.name).substr(4), product.layout);
    product.layout.elements_per_lane = product.layout.k * product.layout.m / 64;
    add_matrix_row(t, std::string("v_mfma_") + m.name, product);
  }
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      std::string types = std::string(a ? "_bf8" : "_fp8") + (b ? "_bf8" : "_fp8");
      MatrixProduct product{.layout = {.elements_per_lane = 8, .family = GpuFamily::Gfx12},
                            .a_type = a ? ElementType::Bf8 : ElementType::Fp8,
                            .b_type = b ? ElementType::Bf8 : ElementType::Fp8};
      add_matrix_row(t, "v_wmma_f32_16x16x16" + types, product);
      product.a_type = a ? ElementType::Bf8Fnuz : ElementType::Fp8Fnuz,
      product.b_type = b ? ElementType::Bf8Fnuz : ElementType::Fp8Fnuz;
      product.layout = {.k = 32, .elements_per_lane = 8, .family = GpuFamily::Gfx9};
      add_matrix_row(t, "v_mfma_f32_16x16x32" + types, product);
      product.layout = {.m = 32, .n = 32, .k = 16, .elements_per_lane = 8, .family = GpuFamily::Gfx9};
      add_matrix_row(t, "v_mfma_f32_32x32x16" + types, product);
    }
}

}  // namespace tgc::hip
