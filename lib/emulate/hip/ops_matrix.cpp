// Matrix instructions: WMMA of gfx11 and gfx12, MFMA of gfx942. Sums are computed in double and rounded once.
#include <charconv>

#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

// The distribution of D = A * B + C (A is m x k, B is k x n) over lanes. A lane holds elements of row lane % m of A and
// of column lane % n of B.
struct Layout {
  uint32_t m = 16, n = 16, k = 16;
  uint32_t in_lane = 16;     // number of elements of A, and of B, that a lane holds
  bool is_doubled = false;   // gfx11: the upper lanes hold copies of the lower lanes' elements
  Family family = Family::Gfx11;
  bool packs_result = false;  // gfx12: a register holds two 16-bit results

  // Returns the k index of a lane's element: its column in A or its row in B.
  uint32_t k_of(uint32_t lane, uint32_t element) const { return is_doubled ? element : lane / m * in_lane + element; }
  // Returns the row of a lane's result element, whose column is lane % n.
  uint32_t row_of(uint32_t lane, uint32_t element) const {
    if (family == Family::Gfx11) return 2 * element + lane / 16;
    if (family == Family::Gfx12) return element + 8 * (lane / 16);
    return element / 4 * (4 * 64 / n) + 4 * (lane / n) + element % 4;
  }
};

enum class Element : uint8_t { F16, Bf16, F32, I8, U8, Fp8, Bf8, Fp8Fnuz, Bf8Fnuz };

float element_of(const Wave& w, uint32_t place, uint32_t lane, uint32_t n, Element type) {
  switch (type) {
    case Element::F16: return half_to_float(uint16_t(w.lane(place + n / 2, lane) >> (16 * (n & 1))));
    case Element::Bf16: return bf16_to_float(uint16_t(w.lane(place + n / 2, lane) >> (16 * (n & 1))));
    case Element::F32: return std::bit_cast<float>(w.lane(place + n, lane));
    default: break;
  }
  auto byte = uint8_t(w.lane(place + n / 4, lane) >> (8 * (n & 3)));
  switch (type) {
    case Element::I8: return int8_t(byte);
    case Element::Fp8: return float(decode_float(byte, kE4m3));
    case Element::Bf8: return float(decode_float(byte, kE5m2));
    case Element::Fp8Fnuz: return float(decode_float(byte, kE4m3Fnuz));
    case Element::Bf8Fnuz: return float(decode_float(byte, kE5m2Fnuz));
    default: return byte;
  }
}

struct Shape {
  Layout layout;
  Element to = Element::F32, from = Element::F16, from_b = from;
  bool is_integer = false;
};

// All shapes, indexed by Op::num_words.
std::vector<Shape>& shapes() {
  static std::vector<Shape> all;
  return all;
}

void matrix_run(Wave& w, const Op& o) {
  const Shape& shape = shapes()[o.num_words];
  const Layout& l = shape.layout;
  constexpr uint32_t kMost = 32;  // upper bound of m, n and k
  float a[kMost * kMost], b[kMost * kMost];
  double sum[kMost * kMost];
  uint32_t lanes = w.num_halves * kNumLanes, registers = l.m * l.n / lanes;
  for (uint32_t lane = 0; lane < (l.is_doubled ? l.m : lanes); lane++)
    for (uint32_t e = 0; e < l.in_lane; e++) {
      uint32_t k = l.k_of(lane, e);
      a[lane % l.m * l.k + k] = element_of(w, o.a.place, lane, e, shape.from);
      b[k * l.n + lane % l.n] = element_of(w, o.b.place, lane, e, shape.from_b);
    }
  bool is_half = shape.to != Element::F32, packs = is_half && l.packs_result;
  auto each_result = [&](auto f) {
    for (uint32_t e = 0; e < registers; e++)
      for (uint32_t lane = 0; lane < lanes; lane++)
        f(lane, packs ? e / 2 : e, packs ? 16 * (e & 1) : 0, sum[l.row_of(lane, e) * l.n + lane % l.n]);
  };
  each_result([&](uint32_t lane, uint32_t at, uint32_t shift, double& to) {
    u32 before = o.c.is_vector ? w.lane(o.c.place + at, lane) : w.s[o.c.place];
    to = shape.is_integer           ? double(int32_t(before))
         : shape.to == Element::F32 ? std::bit_cast<float>(before)
         : shape.to == Element::F16 ? half_to_float(uint16_t(before >> shift))
                                    : bf16_to_float(uint16_t(before >> shift));
  });
  for (uint32_t row = 0; row < l.m; row++)
    for (uint32_t k = 0; k < l.k; k++)
      for (uint32_t column = 0; column < l.n; column++)
        sum[row * l.n + column] += double(a[row * l.k + k]) * b[k * l.n + column];
  each_result([&](uint32_t lane, uint32_t at, uint32_t shift, double& from) {
    u32& to = w.lane(o.to + at, lane);
    if (shape.is_integer) to = u32(int64_t(from));
    else if (!is_half) to = std::bit_cast<u32>(float(from));
    else
      to = (to & ~(0xffffu << shift)) | encode_float(from, shape.to == Element::F16 ? kHalfLayout : kBfloatLayout)
                                            << shift;
  });
}

// Parses the three numbers of "16x16x32".
bool take_shape(std::string_view text, Layout& to) {
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
  const Shape& shape = shapes()[b.row->count];
  const Layout& l = shape.layout;
  uint32_t lanes = b.code.num_halves * kNumLanes;
  if ((l.family == Family::Gfx9) != (b.code.num_halves == 2)) b.refuse("not supported in waves of this size");
  uint32_t from = l.in_lane * (shape.from == Element::F32 ? 4 : shape.from <= Element::Bf16 ? 2 : 1) / 4;
  uint32_t to = l.m * l.n / lanes / (l.packs_result && shape.to != Element::F32 ? 2 : 1);
  Op op = b.begin_op(b.row->run_op);
  op.num_words = b.row->count;
  op.to = b.vector_register(b.operand(0), to);
  op.a = SourceOperand{.place = b.vector_register(b.operand(1), from), .is_vector = true};
  op.b = SourceOperand{.place = b.vector_register(b.operand(2), from), .is_vector = true};
  if (b.operand(3).kind == Operand::Vector)
    op.c = SourceOperand{.place = b.vector_register(b.operand(3), to), .is_vector = true};
  else op.c = b.source(b.operand(3), Type::F32);
  b.emit_op(op);
}

void add_shape(Table& t, const std::string& name, Shape shape) {
  shapes().push_back(shape);
  add_row(t, name,
          {.run_op = matrix_run, .count = uint8_t(shapes().size() - 1), .is_vector = true, .build_ops = build_matrix});
}

}  // namespace

void add_matrix_rows(Table& t) {
  struct Kind {
    const char *to, *from;
    Element to_type, from_type;
  };
  constexpr Kind kWmma[] = {{"f32", "f16", Element::F32, Element::F16},
                            {"f32", "bf16", Element::F32, Element::Bf16},
                            {"f16", "f16", Element::F16, Element::F16},
                            {"bf16", "bf16", Element::Bf16, Element::Bf16}};
  for (const Kind& k : kWmma) {
    Shape shape{.layout = {.is_doubled = true}, .to = k.to_type, .from = k.from_type, .from_b = k.from_type};
    add_shape(t, std::string("v_wmma_") + k.to + "_16x16x16_" + k.from, shape);
    shape.layout = {.in_lane = 8, .family = Family::Gfx12, .packs_result = true};
    add_shape(t, std::string("gfx12:v_wmma_") + k.to + "_16x16x16_" + k.from, shape);
  }
  struct Mfma {
    const char* name;
    Element from;
    bool is_integer;
  };
  constexpr Mfma kMfma[] = {
      {"f32_16x16x16_f16", Element::F16, false},   {"f32_32x32x8_f16", Element::F16, false},
      {"f32_16x16x16_bf16", Element::Bf16, false}, {"f32_32x32x8_bf16", Element::Bf16, false},
      {"f32_16x16x4_f32", Element::F32, false},    {"f32_32x32x2_f32", Element::F32, false},
      {"i32_16x16x32_i8", Element::I8, true},      {"i32_32x32x16_i8", Element::I8, true},
  };
  for (const Mfma& m : kMfma) {
    Shape shape{.layout = {.family = Family::Gfx9}, .from = m.from, .from_b = m.from, .is_integer = m.is_integer};
    take_shape(std::string_view(m.name).substr(4), shape.layout);
    shape.layout.in_lane = shape.layout.k * shape.layout.m / 64;
    add_shape(t, std::string("v_mfma_") + m.name, shape);
  }
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      std::string types = std::string(a ? "_bf8" : "_fp8") + (b ? "_bf8" : "_fp8");
      Shape shape{.layout = {.in_lane = 8, .family = Family::Gfx12},
                  .from = a ? Element::Bf8 : Element::Fp8,
                  .from_b = b ? Element::Bf8 : Element::Fp8};
      add_shape(t, "v_wmma_f32_16x16x16" + types, shape);
      shape.from = a ? Element::Bf8Fnuz : Element::Fp8Fnuz, shape.from_b = b ? Element::Bf8Fnuz : Element::Fp8Fnuz;
      shape.layout = {.k = 32, .in_lane = 8, .family = Family::Gfx9};
      add_shape(t, "v_mfma_f32_16x16x32" + types, shape);
      shape.layout = {.m = 32, .n = 32, .k = 16, .in_lane = 8, .family = Family::Gfx9};
      add_shape(t, "v_mfma_f32_32x32x16" + types, shape);
    }
}

}  // namespace tgc::hip
