#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/rewrite/shortcut.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/movement.h"
#include "passes/kernel/stages.h"
#include "passes/symbolic/symbolic.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

namespace {

// Ops whose value must be stored in memory (rangeify.py:ALWAYS_RUN_OPS).
constexpr OpSet kAlwaysStored{Op::CONTIGUOUS, Op::COPY, Op::ASSIGN, Op::ENCDEC, Op::NOOP};

// Removes from the buffer the axes over which the value does not vary, and expands the smaller buffer to the old shape.
UOp cleanup_dead_axes(UOp b) {
  UOp value = b.src(0);
  if (value.in(kAlwaysStored)) return {};
  auto axes = b.src().subspan(1);
  auto is_dead = [&](UOp r) { return r.is_const() || (r.is(Op::RANGE) && !is_inside_range(value, r)); };
  if (std::ranges::any_of(axes, [](UOp r) { return r.is(Op::RANGE) && !r.src(0).is_const(); }) ||
      std::ranges::none_of(axes, is_dead))
    return {};
  Shape shape = shape_of(b);
  std::vector<UOp> src{value};
  ShapeVec kept;
  for (size_t i = 0; i < shape.size(); i++) {
    bool dead = is_dead(axes[i]);
    kept.push_back(dead ? Sint(1) : shape[i]);
    if (!dead) src.push_back(axes[i]);
  }
  return expand(reshape(b.replace({.src = src, .tag = Arg()}), kept), shape).rtag(b.tag());
}

Arg join_tags(UOp a, UOp b) {
  std::vector<Arg> tags;
  for (Arg tag : {a.tag(), b.tag()})
    if (tag.is_tuple()) tags.insert(tags.end(), tag.items().begin(), tag.items().end());
  return tags.empty() ? Arg() : a.graph().tuple(tags);
}

UOp remove_noop_bufferize(UOp idx, UOp b) {
  UOp source = idx.src(0);
  if (!std::ranges::equal(idx.src().subspan(1), b.src().subspan(1)) || source.is(Op::BUFFER_VIEW)) return {};
  UOp tagged = source.rtag(join_tags(source, b));
  Shape shape = shape_of(b);
  if (shape.empty()) return tagged;
  std::vector<std::pair<Sint, Sint>> bounds;
  for (Sint s : shape) bounds.emplace_back(0, s);
  return shrink(tagged, bounds);
}

struct RecomputeCost {
  std::vector<UOp> buffers, indexes, reduces;
};

bool is_global_bufferize(UOp u) { return u.is(Op::BUFFERIZE) && BufferizeOpts::of(u).addrspace == AddrSpace::GLOBAL; }

RecomputeCost recompute_cost_of(UOp value) {
  RecomputeCost cost;
  UOpSet seen(value.graph());
  toposort(value, [&](UOp u) {
    bool global = is_global_bufferize(u);
    if ((global || u.is(Op::BUFFER)) && seen.insert(u)) cost.buffers.push_back(u);
    if (u.is(Op::INDEX)) cost.indexes.push_back(u);
    if (u.is(Op::REDUCE)) cost.reduces.push_back(u);
    return !global;
  });
  return cost;
}

bool any_reduce_reads_buffer(const std::vector<UOp>& reduces) {
  if (reduces.empty()) return false;
  std::vector<UOp> values;
  for (UOp r : reduces) values.push_back(r.src(0));
  bool found = false;
  toposort(reduces[0].graph().sink(values), [&](UOp u) {
    found |= u.in({Op::BUFFER, Op::BUFFERIZE});
    return !found;
  });
  return found;
}

UOp gate_substitute(const SubstituteContext& ctx, UOp b) {
  for (auto& [range, index] : ctx.replacement_pairs())
    if (is_inside_range(b, range)) return {};
  // do not stop at a node without sources, a RANGE or a BUFFER, because stopping there would skip little
  if (b.num_src() == 0 || b.in({Op::RANGE, Op::BUFFER})) return {};
  return bottom_up_gate();
}

const RuleSet& pm_gate_substitute() {
  static const RuleSet set("pm_gate_substitute", {
      rule("gate-substitute", node(OpSet::all()).as(b), with<gate_substitute>(b)),
  });
  return set;
}
}  // namespace

const RuleSet& gated_substitute() {
  static const RuleSet set("gated substitute", {&pm_gate_substitute(), &substitute_rules()});
  return set;
}

namespace {

Substitution ranges_to_indexes(UOp buf, UOp idx) {
  Substitution out;
  for (size_t i = 1; i < buf.num_src(); i++)
    if (!buf.src(i).is_const()) out.emplace_back(buf.src(i), idx.src(i));
  return out;
}

bool varies_in_reduce(UOp index) {
  return std::ranges::any_of(ranges_of(index), [](UOp r) { return r.arg().items().back() == Arg(AxisType::REDUCE); });
}

// If the buffer of a value is much larger than the buffers that the value reads, replaces the value's buffer by a local
// one; by the value if the local buffer has no axes. The local buffer keeps the axes that index a local buffer inside
// the value, or whose new index varies in a REDUCE range. Other axes are substituted.
UOp partial_contiguous(UOp src, UOp buf, UOp idx, const RecomputeCost& cost) {
  Int in = 1;
  for (UOp b : cost.buffers) in = in + size_of(b);
  Int out = prod(shape_of(buf)).as_int() + 1;
  if (out < in * Int(10)) return {};
  Graph& graph = buf.graph();
  std::vector<UOp> local;
  for (UOp i : cost.indexes)
    if (i.src(0).is(Op::BUFFERIZE) && BufferizeOpts::of(i.src(0)).addrspace == AddrSpace::LOCAL)
      local.push_back(graph.group(i.src().subspan(1)));
  auto kept_ranges = ranges_of(graph.group(local));
  Substitution replaced;
  std::vector<UOp> kept, kept_indexes;
  for (auto [range, index] : ranges_to_indexes(buf, idx)) {
    if (std::ranges::find(kept_ranges, range) != kept_ranges.end() || varies_in_reduce(index)) {
      kept.push_back(range);
      kept_indexes.push_back(index);
    } else {
      replaced.emplace_back(range, index);
    }
  }
  if (replaced.empty()) return {};
  UOp value = substitute(src, replaced, &gated_substitute());
  if (kept.empty()) return value;
  UOp buffer = bufferize(value, kept, {.addrspace = AddrSpace::LOCAL});
  return buffer.index(kept_indexes, buffer.dtype().base());
}

// index(bufferize(src, ranges), indexes) -> src with the ranges replaced by the indexes, if recomputing src is cheap.
// If src has a reduction of a buffer and PCONTIG > 2, returns the result of partial_contiguous().
FoldingResult remove_bufferize(UOp src, UOp buf, UOp idx) {
  if (buf.num_src() != idx.num_src())
    throw Failure("a BUFFERIZE over " + std::to_string(buf.num_src() - 1) + " ranges is indexed by " +
                  std::to_string(idx.num_src() - 1));
  for (UOp r : buf.src().subspan(1))
    if (!r.in({Op::RANGE, Op::CONST}))
      throw Failure("a BUFFERIZE over Ops." + std::string(name_of(r.op())) + ", expected ranges");
  if (src.in(kAlwaysStored) || !BufferizeOpts::of(buf).is_removable) return {};
  if (!src.is(Op::THREEFRY)) {  // THREEFRY is recomputed at any cost, because some devices cannot store 64-bit integers
    int64_t pcontig = src.graph().settings().PCONTIG;
    RecomputeCost cost = recompute_cost_of(src);
    if (cost.buffers.size() > 3 && pcontig <= 2) return {};
    if (any_reduce_reads_buffer(cost.reduces)) {
      if (pcontig <= 2) return {};
      return {partial_contiguous(src, buf, idx, cost), "but-for-some-axes"};
    }
  }
  return {substitute(src, ranges_to_indexes(buf, idx), &gated_substitute()), "whole"};
}

UOp image_to_base(UOp x) { return x.dtype().is_image() ? x.with_dtype(x.dtype().base()) : UOp(); }

// Replaces an image dtype by its base dtype if the buffer has another size or rows that are not whole pixels.
UOp misfit_image_to_base(UOp x) {
  if (!x.dtype().is_image()) return {};
  Int pixels = 1;
  for (int64_t s : x.dtype().image_shape()) pixels = pixels * Int(s);
  Shape shape = shape_of(x);
  bool misfit = shape.empty() || resolve_ne(prod(shape), pixels) || !(mod(shape.back(), 4) == Sint(0));
  return misfit ? x.with_dtype(x.dtype().base()) : UOp();
}

}  // namespace

BufferRequirements buffer_requirements(UOp bufferize) {
  const UOp value = bufferize.src(0);
  const RecomputeCost cost = recompute_cost_of(value);
  return {BufferizeOpts::of(bufferize).is_removable && !value.in(kAlwaysStored), cost.buffers.size(),
          any_reduce_reads_buffer(cost.reduces)};
}

const RuleSet& pm_const_buffer_folding() {
  auto index_cast = cast(anything().of(dtypes::index));
  static const RuleSet own(
      "pm_const_buffer_folding",
      {
          rule("dead-axes", node(Op::BUFFERIZE).as(b), with<cleanup_dead_axes>(b)),
          rule("image-of-value", node(OpSet::all() - OpSet{Op::BUFFERIZE, Op::BUFFER}).as(x), with<image_to_base>(x)),
          rule("image-misfit", node(Op::BUFFERIZE).as(x), with<misfit_image_to_base>(x)),
          rule("bufferize-of-buffer", any_len(Op::BUFFERIZE, node(Op::INDEX).as(idx)).as(b),
               with<remove_noop_bufferize>(idx, b)),
          // the values of an arange are computed where they are used, not stored
          rule(
              "inline-arange",
              any_len(
                  Op::INDEX,
                  any_len(Op::BUFFERIZE, any_of(index_cast.as(s), logical_not(index_cast != anything()).as(s))).as(buf))
                  .as(idx),
              with<remove_bufferize>(s, buf, idx).branches({"whole", "but-for-some-axes"})),
          rule("bufferize-of-const", any_len(Op::BUFFERIZE, node(Op::CONST).as(x)).as(b),
               with(x, b, [](UOp x, UOp b) { return b.const_like(x.arg().to_const()).rtag(b.tag()); })),
          rule("index-of-const", node(Op::INDEX, node(Op::CONST).as(x)), x),
          rule("fold-copy-of-const", node(Op::COPY, c, anything()).as(y),
               with(c, y, [](UOp c, UOp copy) { return const_like_arg(copy, c.arg()); })),
          rule("noop-of-const", any_len(Op::BUFFERIZE, node(Op::NOOP, c)).as(buf),
               with(c, buf, [](UOp c, UOp buf) { return with_first_source(buf, c); })),
          rule("index-stack-of-const", any_len(Op::INDEX, any_len(Op::MSTACK, s)),
               with(s,
                    [](UOp s) {
                      UOp base = base_of(s);
                      return base.is_const() ? s.graph().constant(base.dtype(), base.arg().to_const()) : UOp();
                    })),
      });
  static const RuleSet set("pm_const_buffer_folding", {&pm_mops(), &own});
  return set;
}

const RuleSet& pm_remove_bufferize() {
  static const RuleSet set(
      "pm_remove_bufferize",
      {
          rule("remove-bufferize", any_len(Op::INDEX, any_len(Op::BUFFERIZE, s).as(buf)).as(idx),
               with<remove_bufferize>(s, buf, idx).branches({"whole", "but-for-some-axes"})),
      });
  return set;
}

const RuleSet& remove_bufferize_stage() {
  static const RuleSet set("symbolic+reduce_collapse+debuf",
                           {&symbolic(), &pm_reduce_simplify(), &pm_const_buffer_folding(), &pm_remove_bufferize()});
  return set;
}

namespace {

// Returns how many buffers a kernel may bind on the device (a name or a tuple of names); 0 if there is no limit.
int64_t max_buffers(Arg device, const Settings& settings) {
  if (int64_t limit = settings.MAX_KERNEL_BUFFERS) return limit;
  std::string_view name = device.is_str() ? device.text() : device[0].text();
  if (!device.is_str()) name = name.substr(0, name.find(':'));
  return name == "METAL" ? 31 : name == "WEBGPU" ? 8 : 0;
}
int64_t max_buffers(UOp u) {
  Arg device = device_of(u);
  return device.is_none() ? 0 : max_buffers(device, u.graph().settings());
}

size_t num_buffers_read(UOp root) {
  size_t count = 0;
  UOpSet seen(root.graph());
  toposort(root, [&](UOp u) {
    bool load = u.in({Op::BUFFERIZE, Op::AFTER, Op::BUFFER, Op::MSELECT, Op::MSTACK, Op::DEFINE_VAR});
    count += load && seen.insert(u);
    return !load;
  });
  return count;
}

// Stores the operand `s` in a new buffer, which a kernel with new LOOP ranges fills.
UOp store_in_buffer(IndexingContext& ctx, UOp s) {
  Graph& graph = s.graph();
  auto from = ranges_of(s);
  std::vector<UOp> to;
  Substitution renamed;
  for (UOp r : from) {
    to.push_back(r.is(Op::RANGE) ? r.with_arg(graph.tuple({ctx.next_range++, AxisType::LOOP})) : r);
    renamed.emplace_back(r, to.back());
  }
  UOp buffer = bufferize(substitute(s, renamed), to, {.device = device_or_throw(s)});
  return buffer.index(from, buffer.dtype().base());
}

UOp limit_bufs(IndexingContext& ctx, UOp root) {
  int64_t limit = max_buffers(root);
  if (!limit || int64_t(num_buffers_read(root)) <= limit - 1) return {};  // limit - 1, because one buffer is the output
  std::vector<UOp> src;
  for (UOp s : root.src()) src.push_back(s.in(ops::Elementwise) ? store_in_buffer(ctx, s) : s);
  return root.with_src(src);
}

}  // namespace

const RuleSet& pm_limit_bufs() {
  static const RuleSet set("pm_limit_bufs", {
      rule("limit-buffers", node(ops::Binary | ops::Ternary).as(root), with<limit_bufs>(root)),
  });
  return set;
}

namespace {
const Shortcut kNoLimit("no-limit", "looking for kernels with too many buffers where no device sets a limit");
}  // namespace

UOp limit_buffers(UOp sink, IndexingContext& ctx) {
  auto is_limited = [&](UOp u) {
    // use the device in the node's arg: device_of() throws Failure if an MSELECT below selects from no devices
    bool is_buffer = u.is(Op::BUFFERIZE) && u.arg().is(RecordClass::BufferizeOpts);
    Arg device = u.is(Op::DEVICE) ? u.arg() : is_buffer ? u.arg()[0] : Arg();
    return !device.is_none() && max_buffers(device, ctx.graph.settings());
  };
  return run_shortcut(
      kNoLimit, ctx.graph,
      [&] { return std::ranges::none_of(toposort(sink), is_limited) ? std::optional(sink) : std::nullopt; },
      [&] { return graph_rewrite(sink, pm_limit_bufs(), {.ctx = ctx, .name = "limit buffers"}); });
}

}  // namespace tgc
