// The rules of PTX (tinygrad renderer/ptx.py): predicates are not integers, addresses are computed in int64, and few
// instructions support half.
#include "lib/uop/graph.h"
#include "passes/kernel/renderer_rules/renderer_rules_internal.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kBool{Scalar::Bool}, kHalf{Scalar::Float16}, kInt64{Scalar::Int64};
constexpr OpSet kNotOfHalf{Op::RECIPROCAL, Op::LOG2, Op::SIN,  Op::SQRT, Op::SHR,   Op::SHL,   Op::XOR,
                           Op::AND,        Op::OR,   Op::IDIV, Op::MOD,  Op::CMPEQ, Op::CMPNE, Op::MULACC};

UOp op_as_float(UOp x) {
  std::vector<UOp> src;
  for (UOp s : x.src()) src.push_back(s.cast(dtypes::float32));
  return x.graph().node(x.op(), dtypes::float32, src, x.arg()).cast(dtypes::float16);
}

std::vector<UOp> sources_with_byte(UOp x) {
  std::vector<UOp> src(x.src().begin(), x.src().end());
  if (src.size() >= 2) src[1] = src[1].cast(dtypes::uint8);
  return src;
}

UOp load_byte(UOp x) { return x.graph().node(Op::LOAD, dtypes::uint8, sources_with_byte(x)).cast(dtypes::bool_); }
UOp store_byte(UOp x) { return x.graph().node(Op::STORE, dtypes::void_, sources_with_byte(x)); }

UOp index_to_address(UOp buf, UOp idx, UOp x) {
  if (x.dtype() == dtypes::int64 || buf.dtype().addrspace() == AddrSpace::REG) return {};
  std::vector<UOp> src(x.src().begin(), x.src().end());
  src[1] = buf.cast(dtypes::int64) + idx.cast(dtypes::int64) * Const(buf.dtype().itemsize());
  return x.graph().node(Op::INDEX, dtypes::int64, src);
}

UOp uint_shift(UOp x, UOp y, UOp shift) {
  return y.dtype() != dtypes::uint32 ? shift.graph().node(shift.op(), x.dtype(), {x, y.cast(dtypes::uint32)}) : UOp();
}

}  // namespace

const RuleSet& ptx_rules() {
  static const RuleSet set("ptx", {
      rule("ne-bool", x.of(kBool) != y, with(x, y, [](UOp x, UOp y) { return x ^ y; })),
      rule("eq-bool", alu(Op::CMPEQ, x.of(kBool), y), with(x, y, [](UOp x, UOp y) { return (x ^ y) ^ Const(true); })),
      rule("lt-bool", x.of(kBool) < y, with(x, y, [](UOp x, UOp y) { return (x ^ Const(true)) & y; })),
      rule("half-as-float", node(kNotOfHalf).of(kHalf).as(x), with<op_as_float>(x)),
      rule("load-bool", any_len(Op::LOAD, anything().of(kInt64)).of(kBool).as(x), with<load_byte>(x)),
      rule("store-bool", any_len(Op::STORE, anything().of(kInt64), anything().of(kBool)).as(x), with<store_byte>(x)),
      // &buf[i] -> an int64 INDEX with the address int64(buf) + i * size, unless buf is in registers
      rule("index-to-address", any_len(Op::INDEX, buf, idx).as(x), with<index_to_address>(buf, idx, x)),
      rule("drop-pointer-cast", node(Op::CAST).as(x), with(x, [](UOp x) {
             return x.dtype().is_ptr() || x.src(0).dtype() == dtypes::void_ ? x.src(0) : UOp();
           })),
      rule("shl-by-uint", (x << y).as(s), with<uint_shift>(x, y, s)),
      rule("shr-by-uint", (x >> y).as(s), with<uint_shift>(x, y, s)),
  });
  return set;
}

}  // namespace tgc
