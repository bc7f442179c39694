#include "lib/reduce/cuts.h"

#include <algorithm>

#include "lib/run/repro_bundle.h"
#include "lib/uop/facts.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

namespace {

constexpr int64_t kMaxStoredElements = 1 << 16;  // most elements of a buffer that replaces a node

std::vector<UOp> loops_of(UOp u) {
  auto ranges = ranges_of(u);
  std::vector<UOp> out(ranges.begin(), ranges.end());
  for (UOp s : toposort(u))
    if (s.is(Op::SPECIAL)) out.push_back(s);
  return out;
}

// Returns a node that computes the row-major number of the current iteration of `loops`; the last loop varies fastest.
// Sets `size` to the largest number of iterations. Returns the empty UOp if this number is unknown or too
// large.
UOp iteration_number(Graph& g, const std::vector<UOp>& loops, DType index, int64_t& size) {
  UOp out;
  size = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    Const most = loops[i].vmax();
    if (!most.is_int() || most.as_int() >= Int(kMaxStoredElements) || most.as_int() < Int(0)) return {};
    UOp loop = loops[i].dtype() == index ? loops[i] : loops[i].cast(index);
    UOp term = size == 1 ? loop : loop * Const(size);
    out = out ? term + out : term;
    size *= most.as_int().small_value() + 1;
    if (size > kMaxStoredElements) return {};
  }
  return out ? out : g.constant(index, int64_t(0));
}

DType stored_dtype(UOp u) {
  DType scalar = u.dtype().scalar();
  return scalar.is(Scalar::Index) ? dtypes::int32 : scalar;
}

// Returns the type of a loop after it is moved out of a reduction.
AxisType outer_axis_type(AxisType type) {
  bool reduces = type == AxisType::REDUCE || type == AxisType::GROUP_REDUCE;
  return reduces ? AxisType::LOOP : type == AxisType::UNROLL ? AxisType::UPCAST : type;
}

}  // namespace

bool is_storable(UOp u) {
  DType d = u.dtype();
  return d.is_value() && !d.is(Scalar::Void) && !u.is_invalid() &&
         !u.in({Op::SINK, Op::GROUP, Op::STORE, Op::END, Op::RANGE, Op::SPECIAL, Op::CONST, Op::VCONST, Op::UNROLL,
                Op::CONTRACT, Op::DEFINE_VAR, Op::BUFFERIZE, Op::WMMA});
}

DType index_dtype_of(UOp root) {
  for (UOp u : toposort(root))
    if (u.dtype().is(Scalar::Index)) return dtypes::index;
  return dtypes::int32;
}

UOp single_store_kernel(UOp u, int64_t buffer, DType index) {
  Graph& g = u.graph();
  std::vector<UOp> loops = loops_of(u), ends;
  int64_t size = 1;
  UOp at = iteration_number(g, loops, index, size);
  if (!at) return {};
  UOp value = u.dtype().count() > 1 ? u.gep(0) : u;
  if (value.dtype().is(Scalar::Index)) value = value.cast(dtypes::int32);
  UOp out = g.node(Op::DEFINE_GLOBAL, value.dtype().ptr(size), {}, Arg(buffer));
  for (UOp loop : loops)
    if (loop.is(Op::RANGE)) ends.push_back(loop);
  UOp sink = g.sink(out.index_ptr(at).store(value).end(ends));
  Replacements types;
  for (UOp loop : ends) {
    std::vector<Arg> arg(loop.arg().items().begin(), loop.arg().items().end());
    AxisType type = arg.back().axis_type();
    if (outer_axis_type(type) == type) continue;
    arg.back() = outer_axis_type(type);
    types.emplace_back(loop, loop.with_arg(g.tuple(arg)));
  }
  return types.empty() ? sink : replace_nodes(sink, types);
}

UOp load_of_stored_value(UOp u, int64_t buffer, DType index, bool has_loads) {
  Graph& g = u.graph();
  int64_t size = 1;
  UOp at = iteration_number(g, loops_of(u), index, size);
  if (!at) return {};
  UOp memory = g.node(Op::DEFINE_GLOBAL, stored_dtype(u).ptr(size), {}, Arg(buffer));
  UOp value = has_loads ? memory.index_ptr(at).load() : memory.index(at);
  if (u.dtype().is(Scalar::Index)) value = value.cast(u.dtype().scalar());
  return u.dtype().count() > 1 ? value.broadcast(u.dtype().count()) : value;
}

int64_t first_free_buffer_number(UOp root) {
  int64_t out = 0;
  for (UOp u : toposort(root))
    if (u.is(Op::DEFINE_GLOBAL)) out = std::max(out, u.arg().small_int() + 1);
  return out;
}

UOp stored_value(UOp root) {
  UOp found;
  for (UOp u : toposort(root))
    if (u.is(Op::STORE) && u.num_src() > 1) found = found ? root : u.src(1);
  return found == root ? UOp() : found;
}

TestCase single_store_case(const TestCase& c, UOp u) {
  UOp root = single_store_kernel(u, first_free_buffer_number(c.root), index_dtype_of(c.root));
  if (!root) return {};
  if (c.root.arg().kind() == Arg::Kind::Record) root = root.with_arg(c.root.arg());
  return replace_root(c, root.rtag(c.root.tag()));
}

TestCase replace_by_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                            const ExecuteOptions& in_ref) {
  int64_t number = first_free_buffer_number(c.root);
  DType index = index_dtype_of(c.root);
  bool has_loads = op_in_backward_slice_with_self(c.root, {Op::LOAD});
  const Arrays inputs = arrays_from_bundle(c.inputs);
  const ReferenceRunner ref(inputs, variables, in_ref, InputDistribution{});
  Replacements pairs;
  std::vector<ReproArray> made;
  auto cut = [&](UOp u) {
    UOp root = single_store_kernel(u, number, index), back = load_of_stored_value(u, number, index, has_loads);
    if (!root || !back) return;
    auto done = std::move(ref.run_reference(root).value_or_throw());
    for (ReproArray& a : arrays_to_bundle(done.outputs)) made.push_back(std::move(a));
    pairs.emplace_back(u, back);
    number++;
  };
  for (UOp u : parts) (void)catch_failures([&] { return cut(u), Unit{}; });  // keep nodes that REF cannot run
  if (pairs.empty() && !parts.empty()) return {};
  TestCase out = c;
  out.inputs.insert(out.inputs.end(), made.begin(), made.end());
  return replace_root(out, replace_nodes(c.root, pairs));
}

std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail) {
  std::vector<TestCase> way{given};
  std::vector<UOp> kept = toposort(given.root);
  Replacements out;
  for (size_t parts = 2; !kept.empty();) {
    const size_t size = std::max<size_t>(1, kept.size() / parts);
    bool taken = false;
    for (size_t from = 0; from < kept.size() && !taken; from += size) {
      auto begin = kept.begin() + ptrdiff_t(from), end = kept.begin() + ptrdiff_t(std::min(from + size, kept.size()));
      Replacements more = out;
      std::vector<UOp> stay;
      for (auto it = begin; it != end; ++it)
        if (UOp other = replacement(*it)) more.emplace_back(*it, other);
        else stay.push_back(*it);
      if (more.size() == out.size()) continue;
      TestCase c = replace_root(given, replace_nodes(given.root, more, false));
      std::vector<UOp> left = toposort(c.root);
      auto is_left = [&](UOp u) { return u.is(Op::STORE) || std::ranges::find(left, u) != left.end(); };
      if (std::ranges::any_of(stay, is_left) || !(taken = may_fail(c))) continue;
      way.push_back(std::move(c)), out = std::move(more);
      kept.erase(begin, end);
    }
    if (!taken && size == 1) break;
    parts = taken ? std::max<size_t>(2, parts - 1) : std::min(kept.size(), 2 * parts);
  }
  return way;
}

}  // namespace tgc
