#include "passes/kernel/stages.h"

#include <algorithm>

#include "lib/support/limits.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

// One axis of an UNROLL or CONTRACT. The arg of such a node is a tuple of (id, size) pairs.
struct UnrollAxis {
  int64_t id, size;
  friend auto operator<=>(const UnrollAxis&, const UnrollAxis&) = default;
};
using UnrollAxes = std::vector<UnrollAxis>;

UnrollAxes parse_unroll_axes(Arg arg) {
  UnrollAxes out;
  if (!arg.is_tuple()) throw Failure("the axes of an UNROLL or CONTRACT are " + arg.repr());
  out.reserve(arg.items().size());
  for (Arg pair : arg.items()) {
    if (!pair.is_tuple() || pair.items().size() != 2 || !pair[0].is_int() || !pair[1].is_int())
      throw Failure("an axis of an UNROLL or CONTRACT is " + pair.repr());
    out.push_back({pair[0].as_int().int64_or_throw("an axis"), pair[1].as_int().int64_or_throw("the size of an axis")});
  }
  return out;
}

Arg axes_to_arg(Graph& graph, const UnrollAxes& axes) {
  std::vector<Arg> pairs;
  for (auto [id, size] : axes) pairs.push_back(graph.tuple({id, size}));
  return graph.tuple(pairs);
}

int64_t num_elements(const UnrollAxes& axes) {
  int64_t n = 1;
  for (UnrollAxis a : axes) n = checked_product(Limit::Nodes, n, a.size);
  return n;
}

// Maps a vector over the axes `from` to a vector over the axes `to` (the last axis varies fastest): returns, for each
// element of the result, the index of its element in the source. Axes of `from` that are in `zeroed` have index 0.
std::vector<int64_t> swizzle_indices(const UnrollAxes& to, const UnrollAxes& from,
                                     std::span<const int64_t> zeroed = {}) {
  std::vector<int64_t> strides(to.size(), 0);  // for each axis of `to`, the stride of that axis in `from`
  int64_t stride = 1;
  for (size_t k = from.size(); k-- > 0; stride = checked_product(Limit::Nodes, stride, from[k].size)) {
    if (std::find(zeroed.begin(), zeroed.end(), from[k].id) != zeroed.end()) continue;
    auto at = std::find_if(to.rbegin(), to.rend(), [&](UnrollAxis a) { return a.id == from[k].id; });
    if (at == to.rend())
      throw Failure("axis " + std::to_string(from[k].id) + " of an UNROLL is not among the axes it expands to");
    strides[size_t(to.rend() - at) - 1] += stride;
  }
  (void)num_elements(to);
  std::vector<int64_t> out{0};
  for (size_t k = 0; k < to.size(); k++) {
    std::vector<int64_t> longer;
    longer.reserve(out.size() * size_t(to[k].size));
    for (int64_t base : out)
      for (int64_t i = 0; i < to[k].size; i++) longer.push_back(base + i * strides[k]);
    out = std::move(longer);
  }
  return out;
}

// Returns the ids of the axes that a WMMA's operands already contain as vectors: its reduce and upcast axes.
std::vector<int64_t> wmma_axis_ids(UOp wmma) {
  std::vector<int64_t> out;
  auto fields = wmma.arg().items();
  for (Arg axis : fields[fields.size() - 1].items()) out.push_back(axis.small_int());
  for (Arg operand : fields[fields.size() - 2].items())
    for (Arg pair : operand.items()) out.push_back(pair[0].small_int());
  return out;
}

// Returns the common arg of all UNROLLs among the sources; None if they differ.
Arg shared_axes(UOp root) {
  Arg out;
  for (UOp s : root.src()) {
    if (!s.is(Op::UNROLL)) continue;
    if (!out.is_none() && !(s.arg() == out)) return {};
    out = s.arg();
  }
  return out;
}

UnrollAxes union_of_axes(UOp root, std::span<const int64_t> excluded) {
  UnrollAxes out;
  for (UOp s : root.src()) {
    if (!s.is(Op::UNROLL)) continue;
    for (UnrollAxis a : parse_unroll_axes(s.arg()))
      if (std::find(excluded.begin(), excluded.end(), a.id) == excluded.end()) out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Returns source `i`, which has no expanded axis, repeated `count` times. Ranges, and the indices of an INDEX that is
// no pointer, stay unchanged.
UOp repeat_source(UOp root, size_t i, int64_t count) {
  UOp s = root.src(i);
  bool is_range = range_start(root.op()) >= 0 && int(i) >= range_start(root.op());
  if (is_range || (root.is(Op::INDEX) && i >= 1 && !root.dtype().is_ptr())) return s;
  if (s.dtype().count() == 1) return s.broadcast(count);
  std::vector<UOp> copies(size_t(count), s);
  return s.graph().node(Op::CAT, s.dtype().scalar().vec(count * s.dtype().count()), copies);
}

// Returns the source of `unroll`, a vector, with its elements reordered from the UNROLL's axes to `axes`.
UOp swizzle_source(UOp unroll, const UnrollAxes& axes, std::span<const int64_t> zeroed) {
  UnrollAxes own = parse_unroll_axes(unroll.arg());
  if (own == axes) return unroll.src(0);
  auto order = swizzle_indices(axes, own, zeroed);
  if (int64_t n = unroll.dtype().count(); n > 1) {  // each element is a vector of n values, which must move together
    std::vector<int64_t> wide;
    for (int64_t i : order)
      for (int64_t j = 0; j < n; j++) wide.push_back(i * n + j);
    order = std::move(wide);
  }
  return unroll.src(0).gep(order);
}

UOp do_expand(UOp root) {
  if (std::none_of(root.src().begin(), root.src().end(), [](UOp s) { return s.is(Op::UNROLL); })) return {};
  Graph& graph = root.graph();
  auto excluded = root.is(Op::WMMA) ? wmma_axis_ids(root) : std::vector<int64_t>();
  Arg shared = excluded.empty() ? shared_axes(root) : Arg();
  UnrollAxes axes = shared.is_none() ? union_of_axes(root, excluded) : parse_unroll_axes(shared);
  int64_t count = num_elements(axes);

  std::vector<UOp> src;
  src.reserve(root.num_src());
  for (size_t i = 0; i < root.num_src(); i++) {
    UOp s = root.src(i);
    src.push_back(!s.is(Op::UNROLL)  ? repeat_source(root, i, count)
                  : shared.is_none() ? swizzle_source(s, axes, excluded)
                                     : s.src(0));
  }
  Arg arg = root.arg();
  if (root.is(Op::GEP)) {
    if (root.dtype().count() != 1) throw Failure("an expanded GEP takes several elements");
    std::vector<int64_t> picks;
    int64_t n = src[0].dtype().count();
    if (n < count) throw Failure("a GEP expands to more elements than its source has");
    for (int64_t i = arg[0].small_int(); i < n; i += n / count) picks.push_back(i);
    arg = graph.ints(picks);
  }
  UOp wide = graph.node(root.op(), root.dtype().scalar().vec(root.dtype().count() * count), src, arg);
  return graph.node(Op::UNROLL, root.dtype(), wide, shared.is_none() ? axes_to_arg(graph, axes) : shared);
}

FoldingResult do_contract(UOp con) {
  Graph& graph = con.graph();
  UOp ex = con.src(0);
  if (!ex.is(Op::UNROLL)) {
    std::vector<UOp> copies(size_t(con.dtype().count()), ex);
    return {graph.node(Op::VECTORIZE, con.dtype(), copies), "repeat"};
  }
  UnrollAxes taken = parse_unroll_axes(con.arg()), own = parse_unroll_axes(ex.arg()), kept;
  if (con.dtype() != dtypes::void_ && con.dtype().count() != num_elements(taken))
    throw Failure("a CONTRACT of " + std::to_string(num_elements(taken)) + " elements has the dtype " +
                  std::string(con.dtype().repr()));
  for (UnrollAxis a : own)
    if (std::find(taken.begin(), taken.end(), a) == taken.end()) kept.push_back(a);
  UnrollAxes order = kept;
  order.insert(order.end(), taken.begin(), taken.end());
  return {graph.node(Op::UNROLL, con.dtype(), ex.src(0).gep(swizzle_indices(order, own)), axes_to_arg(graph, kept)),
          "take-out"};
}

template <class Predicate>
std::pair<std::vector<UOp>, std::vector<UOp>> partition_sources(UOp u, size_t first, Predicate is_first) {
  std::pair<std::vector<UOp>, std::vector<UOp>> out;
  for (UOp s : u.src().subspan(std::min(first, u.num_src()))) (is_first(s) ? out.first : out.second).push_back(s);
  return out;
}

bool is_unroll(UOp u) { return u.is(Op::UNROLL); }

Arg concatenate_axes(Graph& graph, const std::vector<UOp>& unrolls) {
  std::vector<Arg> pairs;
  for (UOp u : unrolls) pairs.insert(pairs.end(), u.arg().items().begin(), u.arg().items().end());
  return graph.tuple(pairs);
}

UOp end_unrolls(UOp u) {
  auto [unrolls, rest] = partition_sources(u, 1, is_unroll);
  if (unrolls.empty()) return {};
  rest.insert(rest.begin(),
              u.graph().node(Op::CONTRACT, dtypes::void_, u.src(0), concatenate_axes(u.graph(), unrolls)));
  return u.with_src(rest);
}

UOp fix_reduce_unroll(UOp x) {
  auto [ranges, expands] = partition_sources(x, 1, [](UOp s) { return s.is(Op::RANGE); });
  if (expands.empty()) return {};
  std::erase_if(expands, [](UOp s) { return s.is_const(); });
  if (!std::all_of(expands.begin(), expands.end(), is_unroll))
    throw Failure("a REDUCE over a source that is not a RANGE, UNROLL or constant");
  UOp value = x.src(0);
  Arg axes = concatenate_axes(x.graph(), expands);
  if (!axes.items().empty())
    value = x.graph().node(Op::CONTRACT, x.dtype().vec(num_elements(parse_unroll_axes(axes))), value, axes, 1);
  ranges.insert(ranges.begin(), value);
  return x.with_src(ranges);
}

UOp fix_store_unroll(UOp x) {
  auto [unrolls, ranges] = partition_sources(x, 2, is_unroll);
  if (unrolls.empty()) return {};
  ranges.insert(ranges.begin(), {x.src(0), x.src(1)});
  return x.graph().node(Op::CONTRACT, dtypes::void_, x.with_src(ranges), concatenate_axes(x.graph(), unrolls), 1);
}

bool has_axis_type(UOp u, AxisType type) { return u.is(Op::RANGE) && u.arg()[1] == Arg(type); }

UOp unroll_range(UOp r) {
  if (!has_axis_type(r, AxisType::UNROLL) && !has_axis_type(r, AxisType::UPCAST)) return {};
  Graph& graph = r.graph();
  int64_t size = (r.vmax().as_int() + 1).int64_or_throw("the size of an unrolled range");
  DType vector = r.dtype().vec(size);
  std::vector<Const> values;
  for (int64_t i = 0; i < size; i++) values.push_back(i);
  return graph.node(Op::UNROLL, r.dtype(), graph.constant(vector, values),
                    graph.tuple({graph.tuple({r.arg()[0], size})}));
}

// Splits a REDUCE over GROUP_REDUCE axes: each thread of the group reduces its part and stores it in a local buffer;
// then a loop reduces the parts.
UOp fix_group_for_reduce(UOp x) {
  auto [groups, ranges] = partition_sources(x, 1, [](UOp s) { return has_axis_type(s, AxisType::GROUP_REDUCE); });
  if (groups.empty()) return {};
  Graph& graph = x.graph();
  std::vector<UOp> locals;
  for (UOp u : toposort(x))
    if (has_axis_type(u, AxisType::LOCAL)) locals.push_back(u);

  ranges.insert(ranges.begin(), x.src(0));
  UOp partial = x.with_src(ranges);
  std::vector<UOp> written{partial}, read = locals, loops;
  written.insert(written.end(), locals.begin(), locals.end());
  written.insert(written.end(), groups.begin(), groups.end());
  for (UOp r : groups) loops.push_back(r.with_arg(graph.tuple({r.arg()[0].as_int() + 100, AxisType::REDUCE})));
  read.insert(read.end(), loops.begin(), loops.end());

  Arg opts = graph.record(RecordClass::BufferizeOpts, {groups[0].arg()[0], AddrSpace::LOCAL, true});
  UOp buffer = graph.node(Op::BUFFERIZE, partial.dtype(), written, opts);
  return buffer.index(read, buffer.dtype().base()).reduce(loops, x.arg().op());
}

UOp contract_bufferize(UOp x) {
  UOp index = x.src(1);
  std::vector<UOp> src;
  for (UOp s : x.src())
    src.push_back(x.graph().node(Op::CONTRACT, s.dtype().vec(index.src(0).dtype().count()), s, index.arg()));
  return x.with_src(src);
}

UOp merge_unrolls(UOp outer, UOp inner) {
  return outer.graph().node(Op::UNROLL, outer.dtype(), inner.src(0), concatenate_axes(outer.graph(), {inner, outer}));
}

constexpr OpSet kExpanded = ops::ALU | OpSet{Op::CAST,  Op::BITCAST,   Op::GEP,       Op::WMMA,   Op::LOAD, Op::STORE,
                                             Op::INDEX, Op::BUFFERIZE, Op::VECTORIZE, Op::REDUCE, Op::END,  Op::AFTER};

}  // namespace

const RuleSet& expander() {
  static const RuleSet set("expander", {
      rule("after-broadcast", any_len(Op::AFTER, each(Op::VECTORIZE, x).as(b)).as(a),
           broadcast(with_first_src(a, x, dtype_of(x)), num_src(b))),
      rule("end-broadcast", any_len(Op::END, each(Op::VECTORIZE, x).as(b)).as(a),
           broadcast(with_first_src(a, x), num_src(b))),
      rule("end-unrolled", node(Op::END).as(u), with<end_unrolls>(u)),
      rule("bufferize-unrolled", node(Op::BUFFERIZE, node(Op::UNROLL), node(Op::UNROLL)).as(x), with<contract_bufferize>(x)),
      rule("unroll-unroll", node(Op::UNROLL, node(Op::UNROLL).as(i)).as(u), with<merge_unrolls>(u, i)),
      // op(unroll(x), y) -> unroll(op(x, {y, y, ...}))
      rule("expand", node(kExpanded).early_reject({Op::UNROLL}).as(root), with<do_expand>(root)),
      // contract(unroll(x, axes), some axes) -> unroll(x, the other axes); contract(x) without an UNROLL -> {x, x, ...}
      rule("contract", node(Op::CONTRACT).as(x), with<do_contract>(x).branches({"repeat", "take-out"})),
      rule("unroll-nothing", node(Op::UNROLL, x).arg_ints({}), x),
  });
  return set;
}

const RuleSet& pm_pre_expander() {
  static const RuleSet set("pm_pre_expander", {
      // range(n) of an UPCAST or UNROLL axis with one id -> unroll({0, 1, ..., n-1})
      rule("range-to-unroll", node(Op::RANGE).as(r), with<unroll_range>(r)),
      rule("reduce-unrolled", node(Op::REDUCE).as(x), with<fix_reduce_unroll>(x)),
      // store(p, x, range, unroll) -> contract(store(p, x, range))
      rule("store-unrolled", node(Op::STORE).as(x), with<fix_store_unroll>(x)),
  });
  return set;
}

const RuleSet& pm_group_for_reduce() {
  static const RuleSet set("pm_group_for_reduce", {
      rule("group-for-reduce", node(Op::REDUCE).as(x), with<fix_group_for_reduce>(x)),
  });
  return set;
}

const RuleSet& expander_stage() {
  static const RuleSet set("expander", {&sym(), &pm_pre_expander(), &pm_group_for_reduce(), &expander()});
  return set;
}

}  // namespace tgc
