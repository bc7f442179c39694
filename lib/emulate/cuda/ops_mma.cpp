// mma.sync (shapes: kShapes) and ldmatrix. A matrix is distributed over the registers of 32 lanes. With g = lane / 4,
// t = lane % 4 and E elements per register, element e of a lane's register r is the matrix element at
//   A of 16 rows: row g + 8 * (r % 2), column t * E + e + 4 * E * (r / 2)
//   A of 8 rows: row g, column t * E + e + 4 * E * r
//   B: row t * E + e + 4 * E * r, column g
//   C and D: row g + 8 * (e / 2), column 2 * t + e % 2, where e counts all elements of the lane
// Products are summed in double and rounded once: the order in which a GPU sums is not documented.
#include "lib/emulate/cuda/access.h"
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

struct MmaShape {
  int m, n, k;
  Type a, b, c;      // D has C's type
  int elements_per_register;  // number of elements of A and of B in a register
};
constexpr MmaShape kShapes[] = {
    {16, 8, 8, Type::F16, Type::F16, Type::F32, 2},    {16, 8, 8, Type::F16, Type::F16, Type::F16, 2},
    {16, 8, 16, Type::F16, Type::F16, Type::F32, 2},   {16, 8, 16, Type::F16, Type::F16, Type::F16, 2},
    {16, 8, 8, Type::BF16, Type::BF16, Type::F32, 2},  {16, 8, 16, Type::BF16, Type::BF16, Type::F32, 2},
    {16, 8, 4, Type::TF32, Type::TF32, Type::F32, 1},  {16, 8, 8, Type::TF32, Type::TF32, Type::F32, 1},
    {16, 8, 32, Type::E4M3, Type::E4M3, Type::F32, 4}, {16, 8, 32, Type::E5M2, Type::E5M2, Type::F32, 4},
    {16, 8, 32, Type::E4M3, Type::E5M2, Type::F32, 4}, {16, 8, 32, Type::E5M2, Type::E4M3, Type::F32, 4},
    {16, 8, 16, Type::S8, Type::S8, Type::S32, 4},     {16, 8, 32, Type::S8, Type::S8, Type::S32, 4},
    {16, 8, 16, Type::U8, Type::U8, Type::S32, 4},     {16, 8, 32, Type::U8, Type::U8, Type::S32, 4},
    {8, 8, 16, Type::S8, Type::S8, Type::S32, 4},      {8, 8, 16, Type::U8, Type::U8, Type::S32, 4},
};

double decode_element(Type t, uint32_t word, int e) {
  switch (t) {
    case Type::F16: return half_to_float(uint16_t(word >> (16 * e)));
    case Type::BF16: return bf16_to_float(uint16_t(word >> (16 * e)));
    case Type::TF32: return std::bit_cast<float>(word & ~0x1fffu);
    case Type::E4M3: return decode_float(word >> (8 * e) & 255, kE4m3);
    case Type::E5M2: return decode_float(word >> (8 * e) & 255, kE5m2);
    case Type::S8: return int8_t(word >> (8 * e));
    default: return uint8_t(word >> (8 * e));
  }
}

void mma(Warp& w, const Op& o) {
  if (w.active_lanes != UINT32_MAX)
    throw_fault(w, o, std::countr_zero(~w.active_lanes), kLaunchFailed,
                "does not take part in a matrix product of its warp");
  const MmaShape& s = kShapes[o.immediate];
  const uint32_t* place = w.operands + o.more_operands;
  int elements_c = s.m * s.n / kNumLanes, registers_c = s.c == Type::F16 ? elements_c / 2 : elements_c;
  int registers_a = s.m * s.k / kNumLanes / s.elements_per_register,
      registers_b = s.n * s.k / kNumLanes / s.elements_per_register;
  const uint32_t *pd = place, *pa = pd + registers_c, *pb = pa + registers_a, *pc = pb + registers_b;
  double a[16][32], b[32][8], c[16][8];
  auto row_of_c = [&](int lane, int e) { return lane / 4 + 8 * (e / 2); };
  auto column_of_c = [&](int lane, int e) { return lane % 4 * 2 + e % 2; };
  for (int lane = 0; lane < kNumLanes; lane++) {
    int g = lane / 4, t = lane % 4, per = s.elements_per_register;
    for (int r = 0; r < registers_a; r++)
      for (int e = 0; e < per; e++) {
        int row = s.m == 16 ? g + 8 * (r % 2) : g, column = t * per + e + 4 * per * (s.m == 16 ? r / 2 : r);
        a[row][column] = decode_element(s.a, register_lanes<uint32_t>(w, pa[r])[lane], e);
      }
    for (int r = 0; r < registers_b; r++)
      for (int e = 0; e < per; e++)
        b[t * per + e + 4 * per * r][g] = decode_element(s.b, register_lanes<uint32_t>(w, pb[r])[lane], e);
    for (int e = 0; e < elements_c; e++) {
      uint32_t word = register_lanes<uint32_t>(w, pc[s.c == Type::F16 ? e / 2 : e])[lane];
      c[row_of_c(lane, e)][column_of_c(lane, e)] = s.c == Type::F32   ? std::bit_cast<float>(word)
                                                   : s.c == Type::F16 ? decode_element(Type::F16, word, e % 2)
                                                                      : int32_t(word);
    }
  }
  for (int i = 0; i < s.m; i++)
    for (int k = 0; k < s.k; k++)
      for (int j = 0; j < 8; j++) c[i][j] += a[i][k] * b[k][j];
  for (int lane = 0; lane < kNumLanes; lane++)
    for (int e = 0; e < elements_c; e++) {
      double x = c[row_of_c(lane, e)][column_of_c(lane, e)];
      uint32_t* d = register_lanes<uint32_t>(w, pd[s.c == Type::F16 ? e / 2 : e]) + lane;
      if (s.c == Type::F32) *d = x != x ? 0x7fffffffu : std::bit_cast<uint32_t>(float(x));
      else if (s.c == Type::F16) *d = (e % 2 ? *d & 0xffff : 0) | encode_float(x, kHalfLayout) << (16 * (e % 2));
      else *d = uint32_t(int64_t(x));
    }
}

void translate_mma(CodeBuilder& b) {
  if (!b.accept_modifier("sync") || !b.accept_modifier("aligned")) b.throw_error("only mma.sync.aligned is supported");
  int size = b.accept_any_modifier({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k16"});
  static constexpr int kSizes[][2] = {{16, 4}, {16, 8}, {16, 16}, {16, 32}, {8, 16}};
  if (size < 0) b.throw_error("its shape is not supported");
  if (!b.accept_modifier("row") || !b.accept_modifier("col")) b.throw_error("only .row.col is supported");
  Type d = b.expect_type(), ta = b.expect_type(), tb = b.expect_type(), c = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(4);
  for (const MmaShape& s : kShapes) {
    if (s.m != kSizes[size][0] || s.k != kSizes[size][1] || s.a != ta || s.b != tb || s.c != c || d != c) continue;
    size_t registers_c = size_t(s.m) * 8 / 32 / (c == Type::F16 ? 2 : 1);
    std::vector<uint32_t> ins;
    auto add = [&](size_t n, size_t count, Type t) {
      for (uint32_t r : b.source_registers(b.operand(n), count, t)) ins.push_back(r);
    };
    add(1, size_t(s.m * s.k / 32 / s.elements_per_register), Type::B32);
    add(2, size_t(s.n * s.k / 32 / s.elements_per_register), Type::B32);
    add(3, registers_c, Type::B32);
    std::vector<uint32_t> outs = b.output_registers(b.operand(0), registers_c, Type::B32);
    b.code().is_lane_independent = false;
    return b.emit_op({.run = mma, .immediate = &s - kShapes}, outs, ins);
  }
  b.throw_error("its types are not supported in this shape");
}

// Loads 8x8 matrices of halves. Lane 8 * m + i holds the address of row i of matrix m. Each lane gets two adjacent
// elements of row lane / 4 or, if transposed, of column lane / 4.
template <bool kTransposed>
void ldmatrix(Warp& w, const Op& o) {
  if (w.active_lanes != UINT32_MAX)
    throw_fault(w, o, std::countr_zero(~w.active_lanes), kLaunchFailed,
                "does not take part in loading a matrix of its warp");
  uint32_t matrices = o.num_more_operands - 1;
  LaneAddresses at;
  resolve_addresses<Space::Shared>(w, o, 16, Access::Load, at, ldmatrix<kTransposed>);
  for (uint32_t m = 0; m < matrices; m++) {
    uint32_t* d = register_lanes<uint32_t>(w, w.operands[o.more_operands + m]);
    for (uint32_t lane = 0; lane < kNumLanes; lane++) {
      auto at_row = [&](uint32_t row, uint32_t column) {
        return uint32_t(reinterpret_cast<const uint16_t*>(at.host[8 * m + row])[column]);
      };
      uint32_t g = lane / 4, t = lane % 4;
      d[lane] =
          kTransposed ? at_row(2 * t, g) | at_row(2 * t + 1, g) << 16 : at_row(g, 2 * t) | at_row(g, 2 * t + 1) << 16;
    }
  }
}

void translate_ldmatrix(CodeBuilder& b) {
  if (!b.accept_modifier("sync") || !b.accept_modifier("aligned") || !b.accept_modifier("m8n8"))
    b.throw_error("only ldmatrix.sync.aligned.m8n8 is supported");
  int n = b.accept_any_modifier({"x1", "x2", "x4"});
  bool transposed = b.accept_modifier("trans");
  Space space = parse_space(b);
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(2);
  if (n < 0 || t != Type::B16 || space != Space::Shared)
    b.throw_error("its form is not supported", ".x1, .x2 or .x4, .shared, .b16");
  Op op{.run = transposed ? ldmatrix<true> : ldmatrix<false>};
  set_address(b, b.operand(1), space, op);
  b.code().is_lane_independent = false;
  uint32_t address[] = {op.a};
  b.emit_op(op, b.output_registers(b.operand(0), size_t(1) << n, Type::B32), address);
}

constexpr OpcodeRow kRows[] = {{"mma", translate_mma}, {"ldmatrix", translate_ldmatrix}};

}  // namespace

std::span<const OpcodeRow> mma_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
