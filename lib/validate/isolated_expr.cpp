#include "lib/validate/isolated_expr.h"

#include <algorithm>
#include <iterator>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

constexpr int64_t kMostIterations = 4096;
constexpr int64_t kMostWork = 60'000'000;
constexpr int64_t kPointAxis = 1 << 20;
constexpr int64_t kMostPositions = 256;

std::vector<UOp> reduced_ranges(UOp reduce) {
  std::vector<UOp> out;
  for (UOp s : reduce.src().subspan(1))
    for (UOp r : ranges_of(s))
      if (std::ranges::find(out, r) == out.end()) out.push_back(r);
  return out;
}

UOp vector_element(UOp vector, int64_t i) { return vector.dtype().count() > 1 ? vector.gep(i) : vector; }

int64_t expanded_axis_size(UOp range) {
  AxisType type = range.arg().items().back().axis_type();
  bool expands = type == AxisType::UPCAST || type == AxisType::UNROLL;
  return expands && range.src(0).is_const() && range.arg().items().size() == 2 ? range.vmax().to_int().low_64_bits() + 1
                                                                               : 0;
}

// Returns true if two nodes are the same RANGE, SPECIAL or variable, although a rewrite may have changed one of them.
bool are_same_loop_or_variable(UOp u, UOp other) {
  if (u.op() != other.op() || !(u.arg() == other.arg()) || u.vmax().to_int() != other.vmax().to_int()) return false;
  return u.num_src() == 0 || u.src(0) == other.src(0) || loop_size_text(u) == loop_size_text(other);
}

bool is_elementwise(UOp u) {
  if (!u.dtype().is_value() || u.dtype() == dtypes::void_) return false;
  return u.in(ops::ALU | OpSet{Op::CAST, Op::BITCAST, Op::VECTORIZE, Op::GEP, Op::CAT});
}

}  // namespace

std::string loop_size_text(UOp loop) {
  constexpr size_t kMostNodes = 64, kMostText = 4096;
  const std::string node = "node " + std::to_string(loop.id());
  if (!loop.num_src() || !dtypes::is_int(loop.src(0).dtype())) return loop.num_src() ? node : "none";
  const UOp size = loop.src(0);
  if (size.vmin().to_int() == size.vmax().to_int()) return size.vmin().to_int().str();
  const std::vector<UOp> all = toposort(size);
  if (all.size() > kMostNodes) return node;
  std::unordered_map<UOp, std::string> texts;
  for (UOp u : all) {
    std::string& out = texts[u];
    if (u.is(Op::CAST) && dtypes::is_int(u.dtype()) && dtypes::is_int(u.src(0).dtype())) {
      out = texts[u.src(0)];
      continue;
    }
    if (!dtypes::is_int(u.dtype()) && !dtypes::is_bool(u.dtype())) return node;
    out = std::string(name_of(u.op())) + " " + u.arg().repr() + "(";
    for (UOp s : u.src()) out += texts[s] + ",";
    out += ")";
    if (out.size() > kMostText) return node;
  }
  return texts[size] + " " + std::to_string(size.vmax().to_double());
}

ExprIsolator::ExprIsolator(Graph& graph, std::map<int64_t, int64_t> arrays)
    : graph_(graph), arrays_(std::move(arrays)) {
  sample_point_ = graph.range(Const(kPointsPerRun), kPointAxis, AxisType::GLOBAL);
  leaf_set_of({});
}

uint32_t ExprIsolator::leaf_set_of(std::vector<uint32_t> leaves) {
  auto [it, is_new] = leaf_set_numbers_.try_emplace(leaves, uint32_t(leaf_sets_.size()));
  if (is_new) leaf_sets_.push_back(std::move(leaves));
  return it->second;
}

uint32_t ExprIsolator::union_set(uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  auto [it, is_new] = joined_sets_.try_emplace({std::min(a, b), std::max(a, b)}, 0);
  if (!is_new) return it->second;
  std::vector<uint32_t> all;
  std::ranges::set_union(leaf_sets_[a], leaf_sets_[b], std::back_inserter(all));
  return it->second = leaf_set_of(std::move(all));
}

uint32_t ExprIsolator::leaf_set_of_sources(UOp u, const BoundRanges& bound) {
  uint32_t out = 0;
  for (size_t i = 0; i < u.num_src(); i++) out = union_set(out, source(u, i, bound).leaf_set);
  return out;
}

ExprIsolator::BoundRanges ExprIsolator::bound_ranges_at(UOp u, const BoundRanges& bound) const {
  if (bound.empty()) return {};
  BoundRanges out;
  for (UOp r : bound)
    if (u == r || is_inside_range(u, r)) out.push_back(r);
  return out;
}

const IsolatedExpr* ExprIsolator::known_expr(UOp u, const BoundRanges& bound) {
  std::vector<uint32_t> key;
  for (UOp r : bound_ranges_at(u, bound)) key.push_back(r.id());
  ExprMemo& memo = known_exprs_[key];
  auto it = memo.find(u.id());
  return it == memo.end() ? nullptr : &it->second;
}

const IsolatedExpr& ExprIsolator::isolate_node(UOp root, const BoundRanges& bound) {
  if (const IsolatedExpr* there = known_expr(root, bound)) return *there;
  std::vector<UOp> stack{root};
  while (!stack.empty()) {
    UOp u = stack.back();
    size_t before = stack.size();
    if (!known_expr(u, bound)) {
      if (u.is(Op::REDUCE)) {  // isolate_reduce() isolates the term of a REDUCE later, with its ranges in `bound`
        for (UOp r : reduced_ranges(u))
          for (UOp s : r.src())
            if (!known_expr(s, bound)) stack.push_back(s);
      } else if (!u.in({Op::BUFFERIZE, Op::WMMA, Op::END, Op::STORE})) {
        for (UOp s : u.src())
          if (!known_expr(s, bound)) stack.push_back(s);
      }
      if (stack.size() > before) continue;
      BoundRanges own = bound_ranges_at(u, bound);
      std::vector<uint32_t> key;
      for (UOp r : own) key.push_back(r.id());
      IsolatedExpr made = make_expr(u, own);
      known_exprs_[key].emplace(u.id(), made);
    }
    stack.pop_back();
  }
  return *known_expr(root, bound);
}

IsolatedExpr ExprIsolator::make_expr(UOp u, const BoundRanges& bound) {
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST: return isolate_constant(u);
    case Op::RANGE:
      if (std::ranges::find(bound, u) != bound.end()) return {.value = u};
      if (int64_t size = expanded_axis_size(u)) return axis_leaf(u.arg()[0].small_int(), size);
      return make_leaf(u, bound);
    case Op::UNROLL: return isolate_unroll(u, bound);
    case Op::CONTRACT: return isolate_contract(u, bound);
    case Op::PTRCAT: return vector_of_places(u, bound);
    case Op::DEFINE_GLOBAL:
    case Op::DEFINE_LOCAL:
    case Op::DEFINE_REG: return isolate_define(u);
    case Op::BIND: return source(u, u.num_src() > 1 && u.src(1).is_const() ? 1 : 0, bound);
    case Op::AFTER: return isolate_after(u, bound);
    case Op::NOOP:
      if (u.num_src()) return source(u, 0, bound);
      break;
    case Op::INDEX: return isolate_index(u, bound);
    case Op::LOAD: return isolate_load(u, bound);
    case Op::REDUCE: return isolate_reduce(u, bound);
    case Op::WHERE: return isolate_where(u, bound);
    case Op::CAST:
      if (u.dtype().is_ptr()) return source(u, 0, bound);
      break;
    case Op::VECTORIZE:
    case Op::GEP:
      if (u.dtype().is_ptr() && source(u, 0, bound).is_address()) return vector_of_places(u, bound);
      break;
    default: break;
  }
  if (is_elementwise(u)) return isolate_elementwise(u, bound);
  return u.dtype().is_value() && !(u.dtype() == dtypes::void_) ? make_leaf(u, bound) : IsolatedExpr{};
}

UOp ExprIsolator::logical_and(UOp a, UOp b) {
  if (!a || a == b) return b;
  return b ? a.alu(Op::AND, b) : a;
}

// Returns the value of `u`, or a load of its element for an INDEX that is used as a value; null if there is none.
UOp ExprIsolator::value_of(UOp u, const BoundRanges& bound) {
  const IsolatedExpr& c = *known_expr(u, bound);
  return c.is_address() && u.is(Op::INDEX) && !u.dtype().is_ptr() ? load_at_place(c, u.dtype(), {})
         : c.is_address()                                         ? UOp()
                                                                : c.value;
}

UOp ExprIsolator::load_value(UOp u) {
  expr_of(u);
  return value_of(u, {});
}

IsolatedExpr ExprIsolator::isolate_elementwise(UOp u, const BoundRanges& bound) {
  std::vector<UOp> src;
  std::vector<UOp> valids;
  bool has_valid = false;
  IsolatedExpr out{.leaf_set = leaf_set_of_sources(u, bound)};
  for (size_t i = 0; i < u.num_src(); i++) {
    src.push_back(value_of(u.src(i), bound));
    if (!src.back()) return make_leaf(u, bound);
    if (u.in(ops::Binary) && u.dtype().is(Scalar::Index) && dtypes::is_int(src.back().dtype()))
      src.back() = src.back().cast(u.dtype());  // tinygrad allows an int operand in index arithmetic
    const IsolatedExpr& c = source(u, i, bound);
    valids.push_back(c.is_address() ? UOp() : c.valid);
    has_valid |= bool(valids.back());
  }
  out.value = u.with_src(src);
  if (!has_valid) return out;
  auto bools = [&](UOp s) { return s.dtype().count() > 1 ? dtypes::bool_.vec(s.dtype().count()) : dtypes::bool_; };
  if (u.in({Op::VECTORIZE, Op::CAT})) {
    for (size_t i = 0; i < valids.size(); i++)
      if (!valids[i]) valids[i] = graph_.constant(bools(src[i]), Const(true));
    out.valid = graph_.node(u.op(), bools(u), valids);
  } else if (u.is(Op::GEP)) {
    out.valid = valids[0].gep(u.arg());
  } else {
    for (UOp v : valids) {
      if (v && v.dtype().count() == 1) v = v.broadcast(u.dtype().count());
      out.valid = logical_and(out.valid, v);
    }
  }
  return out;
}

IsolatedExpr ExprIsolator::vector_of_places(UOp u, const BoundRanges& bound) {
  std::vector<UOp> offsets;
  const IsolatedExpr first = source(u, 0, bound);
  if (u.is(Op::GEP)) {
    if (first.value.dtype().count() == 1) return first;
    IsolatedExpr out = first;
    out.value = first.value.gep(u.arg());
    if (first.valid) out.valid = first.valid.gep(u.arg());
    return out;
  }
  std::vector<UOp> valids;
  for (size_t i = 0; i < u.num_src(); i++) {
    const IsolatedExpr& c = source(u, i, bound);
    if (!c.is_address() || !(c.memory == first.memory)) return {};
    int64_t n = c.value.dtype().count(), each = u.is(Op::PTRCAT) ? u.src(i).dtype().base().count() : 1;
    if (u.is(Op::VECTORIZE) && n != 1) return {};
    for (int64_t k = 0; k < n * each; k++) {  // each pointer points to a vector of `each` scalars
      offsets.push_back(vector_element(c.value, k / each).cast(dtypes::index) + Const(k % each));
      valids.push_back(c.valid ? vector_element(c.valid, k / each) : graph_.constant(dtypes::bool_, Const(true)));
    }
  }
  if (offsets.size() == 1) return first;
  int64_t n = int64_t(offsets.size());
  return {.value = graph_.node(Op::VECTORIZE, dtypes::index.vec(n), offsets),
          .valid = graph_.node(Op::VECTORIZE, dtypes::bool_.vec(n), valids),
          .memory = first.memory,
          .leaf_set = leaf_set_of_sources(u, bound)};
}

IsolatedExpr ExprIsolator::isolate_where(UOp u, const BoundRanges& bound) {
  UOp cond = value_of(u.src(0), bound), yes = value_of(u.src(1), bound), no = value_of(u.src(2), bound);
  if (!cond || !yes || !no) return make_leaf(u, bound);
  IsolatedExpr out{.value = u.with_src({cond, yes, no}), .leaf_set = leaf_set_of_sources(u, bound)};
  auto valid_of = [&](size_t i) { return source(u, i, bound).is_address() ? UOp() : source(u, i, bound).valid; };
  const UOp yes_valid = valid_of(1), no_valid = valid_of(2);
  if (!yes_valid && !no_valid) return out;
  int64_t n = u.dtype().count();
  auto wide = [&](UOp v) {
    if (!v) return graph_.constant(n > 1 ? dtypes::bool_.vec(n) : dtypes::bool_, Const(true));
    return v.dtype().count() < n ? v.broadcast(n) : v;
  };
  if (cond.dtype().count() < n) cond = cond.broadcast(n);
  out.valid = cond.where(wide(yes_valid), wide(no_valid));
  return out;
}

IsolatedExpr ExprIsolator::isolate_constant(UOp u) {
  if (!u.arg().is_tuple() && !u.is_invalid()) return {.value = graph_.node(u.op(), u.dtype(), {}, u.arg())};
  size_t n = size_t(u.dtype().count());
  std::vector<Const> numbers, valid;
  for (size_t i = 0; i < n; i++) {
    Const c = u.arg().is_tuple() ? u.arg()[i].to_const() : u.arg().to_const();
    valid.push_back(Const(!c.is_invalid()));
    numbers.push_back(c.is_invalid() ? Const(int64_t(0)) : c);
  }
  bool all = std::ranges::all_of(valid, [](Const c) { return c.to_int().low_64_bits() != 0; });
  DType bools = n > 1 ? dtypes::bool_.vec(int64_t(n)) : dtypes::bool_;
  auto made = [&](DType d, const std::vector<Const>& c) {
    return n > 1 ? graph_.constant(d, c) : graph_.constant(d, c[0]);
  };
  return {.value = made(u.dtype(), numbers), .valid = all ? UOp() : made(bools, valid)};
}

IsolatedExpr ExprIsolator::axis_leaf(int64_t axis, int64_t size) {
  return make_leaf(graph_.range(Const(size), axis, AxisType::PLACEHOLDER), {});
}

// Returns the `each` elements of `vector` that belong to one position on `axes`. The leaves of the axes give the
// position.
UOp ExprIsolator::value_at_position(UOp vector, std::span<const Arg> axes, int64_t each) {
  UOp position;
  int64_t positions = 1;
  for (Arg axis : axes) {
    int64_t size = axis[1].small_int();
    UOp at = axis_leaf(axis[0].small_int(), size).value;
    position = position ? position * Const(size) + at : at;
    positions *= size;
  }
  std::vector<UOp> out;
  for (int64_t k = 0; k < each; k++) {
    UOp one = vector_element(vector, k);
    for (int64_t i = 1; i < positions; i++)
      one = position.eq(Const(i)).where(vector_element(vector, i * each + k), one);
    out.push_back(one);
  }
  return each > 1 ? graph_.node(Op::VECTORIZE, vector.dtype().scalar().vec(each), out) : out[0];
}

IsolatedExpr ExprIsolator::isolate_unroll(UOp u, const BoundRanges& bound) {
  IsolatedExpr from = source(u, 0, bound);
  if (!u.dtype().is_ptr() && from.is_address())
    from.memory = {}, from.valid = {}, from.value = value_of(u.src(0), bound);
  if (!from.value) return u.dtype().is_ptr() ? IsolatedExpr{} : make_leaf(u, bound);
  int64_t positions = 1, n = from.value.dtype().count();
  for (Arg axis : u.arg().items()) positions *= axis[1].small_int();
  if (n % positions || positions > kMostPositions) return u.dtype().is_ptr() ? IsolatedExpr{} : make_leaf(u, bound);
  for (Arg axis : u.arg().items())
    from.leaf_set = union_set(from.leaf_set, axis_leaf(axis[0].small_int(), axis[1].small_int()).leaf_set);
  if (positions == 1) return from;
  auto selected = [&](UOp vector) { return value_at_position(vector, u.arg().items(), n / positions); };
  if (from.valid && from.valid.dtype().count() == n) from.valid = selected(from.valid);
  from.value = selected(from.value);
  return from;
}

// Returns `value` at every position on `axes`, of which the last varies fastest. Returns no values if there are too
// many, or if they are too much work.
std::vector<UOp> ExprIsolator::values_at_all_positions(UOp value, std::span<const Arg> axes) {
  std::vector<UOp> out{value};
  for (Arg axis : axes) {
    UOp at = axis_leaf(axis[0].small_int(), axis[1].small_int()).value;
    std::vector<UOp> more;
    for (UOp v : out)
      for (int64_t i = 0; i < axis[1].small_int(); i++) more.push_back(substitute(v, {{at, at.const_like(Const(i))}}));
    out = std::move(more);
    estimated_work_ += int64_t(out.size()) * kPointsPerRun * 64;
    if (out.size() > size_t(kMostPositions) || estimated_work_ > kMostWork) return {};
  }
  return out;
}

uint32_t ExprIsolator::leaf_set_without(uint32_t leaves, std::span<const Arg> axes) {
  std::vector<uint32_t> rest;
  for (Arg axis : axes) (void)axis_leaf(axis[0].small_int(), axis[1].small_int());
  for (uint32_t l : leaf_sets_[leaves])
    if (std::ranges::none_of(axes, [&](Arg axis) {
          return leaves_[l].node.is(Op::RANGE) && leaves_[l].node.arg()[0] == axis[0] &&
                 leaves_[l].node.arg()[1].axis_type() == AxisType::PLACEHOLDER;
        }))
      rest.push_back(l);
  return leaf_set_of(std::move(rest));
}

IsolatedExpr ExprIsolator::isolate_contract(UOp u, const BoundRanges& bound) {
  const IsolatedExpr from = source(u, 0, bound);
  UOp value = value_of(u.src(0), bound);
  auto unknown = [&] {
    return u.dtype().is_value() && u.dtype() != dtypes::void_ ? make_leaf(u, bound) : IsolatedExpr{};
  };
  if (!value || from.valid) return unknown();
  std::vector<UOp> elements;
  for (UOp v : values_at_all_positions(value, u.arg().items()))
    for (int64_t k = 0; k < v.dtype().count(); k++) elements.push_back(vector_element(v, k));
  if (elements.empty()) return unknown();
  return {.value = elements.size() > 1 ? graph_.node(Op::VECTORIZE, u.dtype(), elements) : elements[0],
          .leaf_set = leaf_set_without(from.leaf_set, u.arg().items())};
}

IsolatedExpr ExprIsolator::make_leaf(UOp u, const BoundRanges& bound) {
  if (!bound.empty()) return {};  // the node may have another value in each iteration of the reduction
  if (auto it = exprs_of_leaves_.find(u.id()); it != exprs_of_leaves_.end()) return it->second;
  for (const ExprLeaf& l : leaves_)
    if (u.in({Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR}) && are_same_loop_or_variable(u, l.node)) {
      IsolatedExpr same = exprs_of_leaves_.at(l.node.id());
      if (!(same.value.dtype() == u.dtype())) same.value = same.value.cast(u.dtype());
      return exprs_of_leaves_[u.id()] = same;
    }
  int64_t n = u.dtype().count();
  uint32_t number = uint32_t(leaves_.size());
  leaves_.push_back({u, num_leaf_slots_});
  bool is_float = dtypes::is_float(u.dtype());
  DType as = is_float ? dtypes::float64 : dtypes::int64;
  UOp array = graph_.node(Op::DEFINE_GLOBAL, as.ptr(), {}, Arg(kLeafArrayNumber + !is_float));
  std::vector<UOp> elements;
  for (int64_t i = 0; i < n; i++) {
    UOp one = array.index_ptr(sample_point_ + Const(num_leaf_slots_++ * kPointsPerRun)).load();
    if (u.in({Op::RANGE, Op::SPECIAL}) && !u.src(0).is_const()) {  // the loop's size depends on variables
      UOp size = value_of(u.src(0), {});
      if (size) one = one.alu(Op::MOD, size.cast(as).maximum(Const(int64_t(1))));
    }
    elements.push_back(one.cast(u.dtype().scalar()));
  }
  UOp value = n > 1 ? graph_.node(Op::VECTORIZE, u.dtype(), elements) : elements[0];
  return exprs_of_leaves_[u.id()] = {.value = value, .leaf_set = leaf_set_of({number})};
}

IsolatedExpr ExprIsolator::isolate_index(UOp u, const BoundRanges& bound) {
  const IsolatedExpr base = source(u, 0, bound);
  auto unknown = [&] { return u.dtype().is_ptr() ? IsolatedExpr{} : make_leaf(u, bound); };
  if (!base.is_address() || u.num_src() < 2 || u.num_src() > 3) return unknown();
  const IsolatedExpr& at = source(u, 1, bound);
  UOp offset = value_of(u.src(1), bound);
  if (!offset) return unknown();
  int64_t n = std::max(base.value.dtype().count(), offset.dtype().count());
  auto wide = [&](UOp v) { return v && v.dtype().count() < n ? v.broadcast(n) : v; };
  UOp gate = u.num_src() > 2 ? value_of(u.src(2), bound) : UOp();
  if (u.num_src() > 2 && !gate) return unknown();
  int64_t scale = u.src(0).dtype().base().count();
  offset = wide(offset);
  if (scale != 1) offset = offset * Const(scale);
  if (!(base.value.is_const() && base.value.arg() == Arg(int64_t(0)))) {
    DType wide_index = n > 1 ? dtypes::index.vec(n) : dtypes::index;
    offset = wide(base.value).cast(wide_index) + offset.cast(wide_index);
  }
  return {.value = offset,
          .valid = logical_and(logical_and(wide(base.valid), wide(at.is_address() ? UOp() : at.valid)), wide(gate)),
          .memory = base.memory,
          .leaf_set = leaf_set_of_sources(u, bound)};
}

// Takes offsets modulo the memory's size, so that an offset out of bounds is no error.
UOp ExprIsolator::load_at_place(const IsolatedExpr& place, DType dtype, UOp alt) {
  int64_t places = place.value.dtype().count();
  int64_t n = std::max<int64_t>(dtype.count(), places), each = n / places;
  if (each * places != n) return {};
  auto it = std::ranges::find(memories_, place.memory, &IsolatedMemory::define);
  std::vector<UOp> elements;
  for (int64_t i = 0; i < n; i++) {
    UOp at = (places > 1 ? place.value.gep(i / each) : place.value).cast(dtypes::index) + Const(i % each);
    UOp size = at.const_like(Const(it->num_scalars));
    UOp within = (at.alu(Op::MOD, size) + size).alu(Op::MOD, size);
    UOp one = place.memory.index_ptr(within).load().cast(dtype.scalar());
    if (place.valid) {
      UOp valid = place.valid.dtype().count() > 1 ? place.valid.gep(i / each) : place.valid;
      UOp other = !alt                    ? one.const_like(Const(int64_t(0)))
                  : alt.dtype().count() > 1 ? alt.gep(i)
                                            : alt;
      one = valid.where(one, other);
    }
    elements.push_back(one);
  }
  return n > 1 ? graph_.node(Op::VECTORIZE, dtype.scalar().vec(n), elements) : elements[0];
}

IsolatedExpr ExprIsolator::isolate_load(UOp u, const BoundRanges& bound) {
  const IsolatedExpr place = source(u, 0, bound);
  if (!place.is_address()) return make_leaf(u, bound);
  UOp alt;
  if (u.num_src() > 1 && u.src(1).dtype().is_value() && !(u.src(1).dtype() == dtypes::void_))
    alt = value_of(u.src(1), bound);
  UOp value = load_at_place(place, u.dtype(), alt);
  return value ? IsolatedExpr{.value = value, .leaf_set = leaf_set_of_sources(u, bound)} : make_leaf(u, bound);
}
// Makes the REDUCE a leaf if it cannot be isolated or is too much work.
IsolatedExpr ExprIsolator::isolate_reduce(UOp u, const BoundRanges& bound) {
  BoundRanges inside = bound;
  std::vector<UOp> src(1);
  int64_t iterations = 1;
  std::vector<Arg> axes;
  for (UOp r : u.src().subspan(1))
    if (r.is(Op::UNROLL)) axes.insert(axes.end(), r.arg().items().begin(), r.arg().items().end());
  for (UOp r : reduced_ranges(u)) {
    if (!r.src(0).is_const()) return make_leaf(u, bound);
    iterations *= std::min<int64_t>(r.src(0).arg().to_const().to_int().low_64_bits(), kMostIterations + 1);
    if (iterations > kMostIterations || iterations <= 0) return make_leaf(u, bound);
    if (std::ranges::find(inside, r) == inside.end()) inside.push_back(r);
    src.push_back(r);
  }
  for (UOp r : bound) iterations *= r.vmax().to_int().low_64_bits() + 1;
  std::ranges::sort(inside, {}, [](UOp r) { return r.id(); });
  isolate_node(u.src(0), inside);
  src[0] = value_of(u.src(0), inside);
  const IsolatedExpr& term = *known_expr(u.src(0), inside);
  // a sum with an Invalid term has no value
  if (!src[0] || (term.valid && !term.is_address())) return make_leaf(u, bound);
  estimated_work_ += iterations * kPointsPerRun * 16;
  if (estimated_work_ > kMostWork) return make_leaf(u, bound);
  uint32_t leaves = known_expr(u.src(0), inside)->leaf_set;
  auto reduced = [&] { return src.size() > 1 || u.dtype() != src[0].dtype() ? u.with_src(src) : src[0]; };
  if (axes.empty()) return {.value = reduced(), .leaf_set = leaves};
  UOp sum;
  for (UOp one : values_at_all_positions(src[0], axes)) sum = sum ? sum.alu(u.arg().op(), one) : one;
  if (!sum || !(sum.dtype() == u.dtype())) return make_leaf(u, bound);
  src[0] = sum;
  return {.value = reduced(), .leaf_set = leaf_set_without(leaves, axes)};
}

}  // namespace tgc
