#include "lib/uop/uop.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/result.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/movement.h"

namespace tgc {

uint8_t kind_of_const(Arg arg) {
  constexpr uint8_t kOther = uint8_t(Op::CONST);
  if (arg.is_invalid()) return kInvalid;
  if (!arg.is_const() || arg.kind() == Arg::Kind::BigInt) return kOther;
  double v = arg.is_float() ? arg.to_const().as_float() : double(arg.small_int());
  if (v == 0) return kZero;
  if (v == 1) return kOne;
  return v == -1 ? uint8_t(kMinusOne) : kOther;
}

void throw_no_source(UOp u, size_t i) {
  throw Failure(std::string(name_of(u.op())) + " with " + count_text(u.num_src(), "source") + " lacks source " +
                std::to_string(i));
}

UOp UOp::replace(const NodeChanges& c) const {
  UOpSpan src = c.src ? UOpSpan(*c.src) : UOpSpan(this->src());
  bool same = (!c.op || *c.op == op()) && (!c.dtype || *c.dtype == dtype()) && (!c.arg || *c.arg == arg()) &&
              (!c.tag || *c.tag == tag()) &&
              (!c.src || std::equal(src.begin(), src.end(), node_->src(), node_->src() + node_->num_src));
  if (same) return *this;
  return graph().node(c.op.value_or(op()), c.dtype.value_or(dtype()), src, c.arg.value_or(arg()),
                      c.tag.value_or(tag()));
}

UOp UOp::with_src(UOpSpan src) const {
  if (std::ranges::equal(src, this->src())) return *this;
  return graph().node(op(), dtype(), src, arg(), tag());
}

UOp UOp::const_like(Const value) const {
  Arg device = device_of(*this);
  auto shape = shape_or_none(*this);
  UOp c = device.is_none() ? graph().constant(dtype(), value) : graph().constant(dtype(), value, device);
  return shape ? expand_const(c, *shape) : c;
}

UOp UOp::const_like(std::span<const Const> values) const { return graph().constant(dtype(), values); }

namespace {
DType alu_dtype(Op op, DType last) { return ops::Comparison.contains(op) ? dtypes::bool_.vec(last.count()) : last; }
}  // namespace

UOp UOp::alu(Op op, UOpSpan rest) const {
  return graph().node(op, alu_dtype(op, rest.empty() ? dtype() : rest.back().dtype()), prepend(*this, rest));
}
UOp UOp::alu(Op op) const { return graph().node(op, alu_dtype(op, dtype()), *this); }
UOp UOp::alu(Op op, UOp b) const { return graph().node(op, alu_dtype(op, b.dtype()), {*this, b}); }
UOp UOp::alu(Op op, UOp b, UOp c) const { return graph().node(op, alu_dtype(op, c.dtype()), {*this, b, c}); }

UOp UOp::cast(DType to) const {
  if (to.count() == 1 && dtype().count() != 1) to = to.vec(dtype().count());
  return to == dtype() ? *this : graph().node(Op::CAST, to, *this);
}
UOp UOp::bitcast(DType to) const { return graph().node(Op::BITCAST, to, *this); }

UOp UOp::neg() const { return dtypes::is_bool(dtype()) ? logical_not() : *this * Const(-1); }
UOp UOp::logical_not() const { return ne(Const(true)); }

UOp operator+(UOp a, UOp b) { return a.alu(Op::ADD, b); }
UOp operator-(UOp a, UOp b) { return a + -b; }
UOp operator*(UOp a, UOp b) { return a.alu(Op::MUL, b); }
UOp operator/(UOp a, UOp b) { return a.alu(Op::IDIV, b); }
UOp operator%(UOp a, UOp b) { return a.alu(Op::MOD, b); }
UOp operator<<(UOp a, UOp b) { return a.alu(Op::SHL, b); }
UOp operator>>(UOp a, UOp b) { return a.alu(Op::SHR, b); }
UOp fdiv(UOp a, UOp b) { return a * b.reciprocal(); }

namespace {
UOp make_bitwise_alu(Op op, UOp a, UOp b) {
  if (!dtypes::is_bool(a.dtype()) && !dtypes::is_int(a.dtype()))
    throw Failure(std::string(a.dtype().repr()) + " is not supported by " + std::string(name_of(op)));
  return a.alu(op, b);
}
}  // namespace
UOp operator&(UOp a, UOp b) { return make_bitwise_alu(Op::AND, a, b); }
UOp operator|(UOp a, UOp b) { return make_bitwise_alu(Op::OR, a, b); }
UOp operator^(UOp a, UOp b) { return make_bitwise_alu(Op::XOR, a, b); }

UOp UOp::broadcast(int64_t count) const {
  if (dtype().vcount() != 1) throw Failure("cannot broadcast the vector " + std::string(dtype().repr()));
  if (count == 1) return *this;
  std::vector<UOp> src(size_t(count), *this);
  return graph().node(Op::VECTORIZE, dtype().vec(count), src);
}

UOp UOp::gep(int64_t i) const {
  auto element = [&](size_t size) {
    if (i < 0 || size_t(i) >= size)
      throw Failure("no element " + std::to_string(i) + " in a vector of " + std::to_string(size));
    return size_t(i);
  };
  switch (op()) {
    case Op::VECTORIZE: return src(element(num_src()));
    case Op::VCONST: return graph().constant(dtype().scalar(), arg()[element(arg().items().size())].to_const());
    case Op::CONST: return graph().constant(dtype().scalar(), arg().to_const());
    default: return graph().node(Op::GEP, dtype().scalar(), *this, graph().tuple({i}));
  }
}

UOp UOp::gep(std::span<const int64_t> indices) const {
  return indices.size() == 1 ? gep(indices[0]) : gep(graph().ints(indices));
}

UOp UOp::gep(Arg indices) const {
  size_t count = indices.items().size();
  if (count == 1) return gep(indices[0].small_int());
  DType element = dtype().scalar();
  return graph().node(Op::GEP, count > 1 ? element.vec(int64_t(count)) : element, *this, indices);
}

UOp UOp::index(UOpSpan indices, DType dtype) const { return graph().node(Op::INDEX, dtype, prepend(*this, indices)); }
UOp UOp::index(UOp i) const { return graph().node(Op::INDEX, dtype().base(), {*this, i}); }
UOp UOp::index_ptr(UOp i) const { return graph().node(Op::INDEX, dtype(), {*this, i}); }
UOp UOp::index_ptr(UOp i, UOp valid) const { return graph().node(Op::INDEX, dtype(), {*this, i, valid}); }
UOp UOp::load() const { return graph().node(Op::LOAD, dtype().base(), *this); }
UOp UOp::load(UOpSpan rest, DType dtype) const { return graph().node(Op::LOAD, dtype, prepend(*this, rest)); }
UOp UOp::store(UOp value) const { return graph().node(Op::STORE, dtypes::void_, {*this, value}); }
UOp UOp::store(UOp value, std::span<const UOp> ranges) const {
  std::vector<UOp> src{*this, value};
  src.insert(src.end(), ranges.begin(), ranges.end());
  return graph().node(Op::STORE, dtypes::void_, src);
}
UOp UOp::end(UOpSpan ranges) const {
  return ranges.empty() ? *this : graph().node(Op::END, dtypes::void_, prepend(*this, ranges));
}
UOp UOp::after(UOpSpan deps) const { return graph().node(Op::AFTER, dtype(), prepend(*this, deps)); }
UOp UOp::barrier(UOpSpan deps) const { return graph().node(Op::BARRIER, dtypes::void_, prepend(*this, deps)); }
UOp UOp::reduce(UOpSpan ranges, Op op) const { return graph().node(Op::REDUCE, dtype(), prepend(*this, ranges), op); }
UOp UOp::assign(UOp value) const { return graph().node(Op::ASSIGN, dtype(), {*this, value}); }

UOp UOp::valid(UOp cond) const { return cond.where(*this, graph().invalid(dtype().count())); }

namespace {
bool is_gated_index(UOp u) {
  if (u.dtype().scalar() != dtypes::index)
    throw Failure("the validity of an index was requested for a node of " + std::string(u.dtype().repr()));
  return u.is(Op::WHERE) && u.src(2).is_invalid();
}
}  // namespace
UOp UOp::get_idx() const { return is_gated_index(*this) ? src(1) : *this; }
UOp UOp::get_valid() const { return is_gated_index(*this) ? src(0) : graph().constant(dtypes::bool_, !is_invalid()); }

namespace {

Simplifier installed_simplifier = nullptr;

}  // namespace

bool install_simplifier(Simplifier simplifier) {
  installed_simplifier = simplifier;
  return true;
}

UOp UOp::simplify() const {
  if (in({Op::CONST, Op::VCONST})) return *this;
  TGC_CHECK(installed_simplifier, "this program does not link the rules of passes/symbolic");
  return installed_simplifier(*this);
}

Arg UOp::ssimplify() const {
  UOp s = simplify();
  return s.is_const() ? s.arg() : Arg(s);
}

}  // namespace tgc
