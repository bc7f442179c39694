// The rules of the stage "apply rangeify" (tinygrad schedule/indexing.py:pm_apply_rangeify).

#include "lib/uop/facts.h"
#include "passes/tensor/stages.h"

namespace tgc {

using namespace pat;

namespace {

using RangeifyContext = IndexingContext;
using NodeRanges = IndexingContext::NodeRanges;

NodeRanges ranges_or_throw(const RangeifyContext& ctx, UOp x) {
  if (auto* ranges = ctx.range_map.find(x)) return *ranges;
  throw Failure("Ops." + std::string(name_of(x.op())) + " has no ranges");
}

// Returns the `ranges` of the realized axes. If not all axes are realized, `some` owns the result.
std::span<const UOp> ranges_of_realized_axes(std::span<const UOp> ranges, const RangeifyContext::RealizedAxes& realized,
                                             std::vector<UOp>& some) {
  size_t first_out = 0;
  while (first_out < ranges.size() && realized.has_axis(first_out)) first_out++;
  if (first_out == ranges.size()) return ranges;
  some.assign(ranges.begin(), ranges.begin() + ptrdiff_t(first_out));
  for (size_t i = first_out; i < ranges.size(); i++)
    if (realized.has_axis(i)) some.push_back(ranges[i]);
  return some;
}

// Returns what replaces the source `s` of `x`: a buffer `s`, or a new BUFFERIZE of a realized `s`, with an INDEX if `x`
// has ranges; the END of a realized STORE; or `s` itself.
UOp source_replacement(RangeifyContext& ctx, UOp x, UOp s) {
  bool stored = s.in({Op::BUFFER, Op::BUFFER_VIEW, Op::MSTACK, Op::MSELECT, Op::AFTER});
  const RangeifyContext::RealizedAxes* realized = stored ? nullptr : ctx.realize_map.find(s);
  if (!stored && !realized) return s;
  const NodeRanges* own = ctx.range_map.find(x);
  if (stored) return own ? s.index(own->input, s.dtype().base()) : s;
  if (!realized->has_axes) throw Failure("Ops." + std::string(name_of(s.op())) + " is realized but has no ranges");
  auto out = ranges_or_throw(ctx, s).output;
  std::vector<UOp> some;
  auto closed = ranges_of_realized_axes(out, *realized, some);
  if (s.is(Op::STORE)) {
    std::vector<UOp> loops(closed.begin(), closed.end());
    std::erase_if(loops, [](UOp r) { return !r.is(Op::RANGE); });
    ctx.realize_map.erase(s);
    return s.end(loops);
  }
  BufferizeOpts opts{.is_removable = !x.is(Op::COPY) && !s.in(kAlwaysContiguous)};
  bool whole = out.size() == realized->axes.size();
  if (whole) opts.device = device_or_throw(s);
  else opts.addrspace = AddrSpace::LOCAL;
  UOp buffer = bufferize(s, closed, opts, whole ? s.tag() : Arg());
  return own ? buffer.index(ranges_of_realized_axes(own->input, *realized, some), buffer.dtype().base()) : buffer;
}

UOp read_sources(RangeifyContext& ctx, UOp x) {
  if (x.in({Op::BUFFERIZE, Op::INDEX, Op::AFTER})) return {};
  std::vector<UOp> src;
  for (size_t i = 0; i < x.num_src(); i++) {
    UOp s = source_replacement(ctx, x, x.src(i));
    if (src.empty() && s == x.src(i)) continue;
    if (src.empty()) {
      src.reserve(x.num_src());
      src.assign(x.src().begin(), x.src().begin() + ptrdiff_t(i));
    }
    src.push_back(s);
  }
  return src.empty() ? UOp() : x.with_src(src);
}

UOp reduce_over_ranges(RangeifyContext& ctx, UOp x) {
  NodeRanges ranges = ranges_or_throw(ctx, x);
  std::vector<UOp> src{x.src(0)};
  for (size_t i = 0; i < ranges.input.size(); i++)
    for (Arg axis : x.arg()[1].items())
      if (axis == Arg(int64_t(i))) src.push_back(ranges.input[i]);
  UOp out = x.graph().node(Op::REDUCE, x.dtype(), src, x.arg()[0], x.tag());
  ctx.range_map[out] = ranges;
  return out;
}

UOp pad_to_where(RangeifyContext& ctx, UOp x) {
  const NodeRanges* found = ctx.range_map.find(x);
  if (!found) return {};
  NodeRanges ranges = *found;
  Graph& graph = x.graph();
  UOp valid = graph.constant(dtypes::bool_, true);
  for (UOp r : ranges.input) valid = valid & r.get_valid();
  UOp out = valid.where(x.src(0), graph.constant(x.dtype(), 0));
  ctx.range_map[out] = ranges;
  return out;
}

}  // namespace

const RuleSet& mark_movements() {
  static const RuleSet set("mark_movements", {
      rule("mark-movement", node(ops::Movement).as(x), with(x, [](UOp x) { return x.rtag(x.graph().tuple({})); })),
  });
  return set;
}

namespace {

// Adds the target with its movement ops as a third source, which assign_to_store() uses.
UOp assign_with_movements(RangeifyContext& ctx, UOp assign) {
  if (assign.src(1).is(Op::KERNEL)) return {};
  NodeRanges ranges = ranges_or_throw(ctx, assign);
  UOp out = assign.with_src({assign.src(0), assign.src(1), graph_rewrite(assign.src(0), mark_movements())});
  ctx.range_map[out] = ranges;
  return out;
}

}  // namespace

const RuleSet& pm_apply_rangeify() {
  static const RuleSet set(
      "pm_apply_rangeify",
      {
          rule("reduce-over-ranges", node(Op::REDUCE_AXIS).as(x), with<reduce_over_ranges>(x)),
          rule("pad-to-where", node(Op::PAD).as(x), with<pad_to_where>(x)),
          rule("assign-with-movements", node(Op::ASSIGN, anything(), anything()).as(a), with<assign_with_movements>(a)),
          rule("read-sources", node(OpSet::all()).as(x), with<read_sources>(x)),
          // movement(x) -> x, because the ranges express the movement
          rule("drop-movement", node(ops::Movement).as(x),
               with_ctx<RangeifyContext>(
                   x, [](RangeifyContext& ctx,
                         UOp x) { return ctx.range_map.contains(x) || x.src(0).is(Op::INDEX) ? x.src(0) : UOp(); })),
          rule("const-drops-sources", node({Op::CONST, Op::DEFINE_VAR}).as(x),
               with_ctx<RangeifyContext>(
                   x, [](RangeifyContext& ctx, UOp x) { return ctx.range_map.contains(x) ? x.with_src({}) : UOp(); })),
      });
  return set;
}

}  // namespace tgc
