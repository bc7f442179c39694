#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

// v_cmpx_... writes its result to EXEC; on gfx9 also to a mask operand.
void build_compare(CodeBuilder& b) {
  bool changes_exec = b.name.starts_with("v_cmpx_");
  if (!changes_exec) return b.build_by_types();
  b.allow_modifiers({});
  Op op = b.make_op(b.row->run_op);
  bool has_result = b.num_operands() == 3;
  size_t first = has_result ? 1 : 0;
  op.to = uint16_t(kExec);
  op.a = b.source_operand(b.operand(first), b.row->from[0]),
  op.b = b.source_operand(b.operand(first + 1), b.row->from[1]);
  b.emit_op(op);
  if (!has_result) return;
  Op copy = b.make_op(opcode_table().at(b.code.num_halves == 2 ? "s_mov_b64" : "s_mov_b32").run_op, false);
  copy.a = SourceOperand{.register_index = uint16_t(kExec)}, copy.to = b.mask_register(b.operand(0));
  b.emit_op(copy);
}

void add_compare_row(OpcodeTable& t, const char* condition, const char* type, OpcodeRow row) {
  row.build_ops = build_compare;
  std::string name = std::string(condition) + "_" + type;
  add_row(t, "v_cmp_" + name + " v_cmpx_" + name, row);
}
template <class T, auto F>
void add_compare(OpcodeTable& t, const char* condition, const char* type) {
  add_compare_row(t, condition, type, vector_row<[](T a, T b) -> bool { return F(a, b); }>());
}

constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
constexpr auto kNotLt = [](auto a, auto b) { return !(a < b); };
constexpr auto kNotLe = [](auto a, auto b) { return !(a <= b); };
constexpr auto kNotGt = [](auto a, auto b) { return !(a > b); };
constexpr auto kNotGe = [](auto a, auto b) { return !(a >= b); };
constexpr auto kLess = [](auto a, auto b) { return a < b || a > b; };
constexpr auto kNotLess = [](auto a, auto b) { return !(a < b || a > b); };
constexpr auto kOrdered = [](auto a, auto b) { return a == a && b == b; };
constexpr auto kUnordered = [](auto a, auto b) { return !(a == a && b == b); };
constexpr auto kNever = [](auto, auto) { return false; };
constexpr auto kAlways = [](auto, auto) { return true; };

template <class T>
void add_integer_compare_rows(OpcodeTable& t, const char* type) {
  add_compare<T, kEq>(t, "eq", type), add_compare<T, kNe>(t, "ne", type), add_compare<T, kLt>(t, "lt", type);
  add_compare<T, kLe>(t, "le", type), add_compare<T, kGt>(t, "gt", type), add_compare<T, kGe>(t, "ge", type);
  add_compare<T, kNever>(t, "f", type), add_compare<T, kAlways>(t, "t", type);
}

template <class T>
void add_float_compare_rows(OpcodeTable& t, const char* type) {
  add_compare<T, kEq>(t, "eq", type), add_compare<T, kNe>(t, "neq", type);
  add_compare<T, kLt>(t, "lt", type), add_compare<T, kNotLt>(t, "nlt", type);
  add_compare<T, kLe>(t, "le", type), add_compare<T, kNotLe>(t, "nle", type);
  add_compare<T, kGt>(t, "gt", type), add_compare<T, kNotGt>(t, "ngt", type);
  add_compare<T, kGe>(t, "ge", type), add_compare<T, kNotGe>(t, "nge", type);
  add_compare<T, kLess>(t, "lg", type), add_compare<T, kNotLess>(t, "nlg", type);
  add_compare<T, kOrdered>(t, "o", type), add_compare<T, kUnordered>(t, "u", type);
  add_compare<T, kNever>(t, "f", type), add_compare<T, kAlways>(t, "tru", type), add_compare<T, kAlways>(t, "t", type);
}

// Returns true if x is in one of `classes`, a mask: signaling NaN, quiet NaN, then the classes from -infinity to
// +infinity.
template <class T, class Bits, int kMantissa>
bool is_in_class(Bits x, uint32_t classes) {
  constexpr int kBits = sizeof(Bits) * 8, kExponent = kBits - 1 - kMantissa;
  Bits mantissa = x & ((Bits(1) << kMantissa) - 1), most = (Bits(1) << kExponent) - 1;
  Bits exponent = x >> kMantissa & most;
  bool negative = x >> (kBits - 1) & 1;
  if (exponent == most && mantissa) return classes >> (mantissa >> (kMantissa - 1) & 1) & 1;
  int size = exponent == most ? 3 : exponent ? 2 : mantissa ? 1 : 0;
  return classes >> (negative ? 5 - size : 6 + size) & 1;
}

template <class T, class Bits, int kMantissa>
void add_class_rows(OpcodeTable& t, const char* type) {
  OpcodeRow row = vector_row<[](T a, uint32_t classes) -> bool {
    Bits bits;
    if constexpr (sizeof(Bits) == 2) bits = a != a ? Bits(0x7e00) : Bits(float_to_half(a));
    else bits = std::bit_cast<Bits>(a);
    return is_in_class<T, Bits, kMantissa>(bits, classes);
  }>();
  add_compare_row(t, "class", type, row);
}

}  // namespace

void add_compare_rows(OpcodeTable& t) {
  add_integer_compare_rows<uint16_t>(t, "u16"), add_integer_compare_rows<int16_t>(t, "i16"),
      add_integer_compare_rows<uint32_t>(t, "u32");
  add_integer_compare_rows<int32_t>(t, "i32"), add_integer_compare_rows<uint64_t>(t, "u64"),
      add_integer_compare_rows<int64_t>(t, "i64");
  add_float_compare_rows<HalfFloat>(t, "f16"), add_float_compare_rows<float>(t, "f32"),
      add_float_compare_rows<double>(t, "f64");
  add_class_rows<HalfFloat, uint16_t, 10>(t, "f16"), add_class_rows<float, uint32_t, 23>(t, "f32");
  add_class_rows<double, uint64_t, 52>(t, "f64");
}

}  // namespace tgc::hip
