#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"
#include "passes/kernel/stages.h"

namespace tgc {

using namespace pat;

namespace {

using KernelSplitContext = LocalAddBufferContext;

bool is_outer(UOp range) { return range.arg().items().back() == Arg(AxisType::OUTER); }
bool is_empty_tuple(Arg a) { return a.is_tuple() && a.items().empty(); }

// Throws Failure if a kernel reads a buffer both before and after another kernel writes the buffer.
UOp find_bufs(UOp store) {
  std::vector<std::pair<UOp, Op>> read_from;
  auto may_be_read = [](UOp u) { return !u.is(Op::AFTER); };
  UOp buffer;
  auto reads_another_state = [&](UOp u) {
    if (!u.is(Op::INDEX)) return false;
    buffer = as_buf(u);
    if (!buffer.is(Op::BUFFER)) return false;
    Op through = u.src(0).op();
    auto known = std::ranges::find(read_from, buffer, &std::pair<UOp, Op>::first);
    if (known != read_from.end()) return known->second != through;
    read_from.emplace_back(buffer, through);
    return false;
  };
  if (is_found_below(store, may_be_read, reads_another_state))
    throw Failure("cycle detected while indexing the buffer " + buffer.src(0).arg().repr() +
                  ": it is read before and after it is assigned");
  return {};
}

void add_kernel_buffer(KernelSplitContext& ctx, UOp buffer, UOp from) {
  if (ctx.buffer_indices.try_emplace(buffer, ctx.buffers.size()).second) ctx.buffers.emplace_back(buffer, from);
}

UOp define_global(KernelSplitContext& ctx, UOp buffer) {
  add_kernel_buffer(ctx, buffer, buffer);
  int64_t size = buffer.arg().as_int().int64_or_throw("the size of a buffer");
  return buffer.graph().node(Op::DEFINE_GLOBAL, buffer.dtype().ptr(size), {}, ctx.next_global_number++);
}

UOp buffer_of_after(KernelSplitContext& ctx, UOp after) {
  if (after.dtype().is_ptr() && after.dtype().addrspace() == AddrSpace::LOCAL) return {};
  UOp buffer = as_buf(after);
  if (buffer.in({Op::MSTACK, Op::MSELECT})) buffer = buffer.src(0);  // the AST shows only the first source
  if (ctx.buffer_indices.contains(buffer)) throw Failure("a kernel reads a buffer at two points of the schedule");
  add_kernel_buffer(ctx, buffer, after);
  return buffer;
}

UOp unbind(KernelSplitContext& ctx, UOp bind) {
  if (std::find(ctx.vars.begin(), ctx.vars.end(), bind) == ctx.vars.end()) ctx.vars.push_back(bind);
  return bind.src(0);
}

UOp renumber_range(KernelSplitContext& ctx, UOp r) {
  if (!is_empty_tuple(r.tag())) return {};
  Graph& graph = r.graph();
  if (is_outer(r)) {
    UOp variable = graph.variable("range_" + range_str(r), r.vmin(), r.vmax());
    return graph.node(Op::BIND, variable.dtype(), {variable, r.rtag({})});
  }
  std::vector<Arg> arg(r.arg().items().begin(), r.arg().items().end());
  arg[0] = ctx.next_range_number++;
  return r.replace({.arg = graph.tuple(arg), .tag = Arg()});
}

// Returns the first COPY, BUFFER_VIEW or ENCDEC in the AST, which replaces the loop nest; else the empty UOp.
UOp find_device_op(UOp ast) {
  constexpr OpSet kDeviceOps{Op::COPY, Op::BUFFER_VIEW, Op::ENCDEC};
  if (!ast.graph().ops().intersects(kDeviceOps)) return {};
  for (UOp u : toposort(ast))
    if (u.in(kDeviceOps)) return u;
  return {};
}

Arg make_kernel_info(Graph& graph, Arg opts) {
  if (opts.is_none()) return {};
  return graph.record(RecordClass::KernelInfo, {graph.str("test"), graph.tuple({}), false, graph.tuple({}), opts});
}

UOp split_store(UOp x) {
  auto ranges = ranges_of(x);
  if (!std::all_of(ranges.begin(), ranges.end(), is_outer)) return {};
  if (x.is(Op::END) && x.num_src() > 1 && x.src(1).is(Op::RANGE) && is_outer(x.src(1))) return {};
  Graph& graph = x.graph();
  KernelSplitContext ctx;
  UOp ast = graph_rewrite(x, kernel_split(), {.ctx = ctx, .bottom_up = true, .name = "kernel split"});
  if (UOp op = find_device_op(ast)) ast = op;
  else ast = graph.sink(ast, make_kernel_info(graph, ctx.opts));
  std::vector<UOp> src;
  for (auto& [buffer, from] : ctx.buffers) src.push_back(from);
  if (ast.is(Op::SINK))
    for (UOp s : src)
      if (!(device_or_throw(s) == device_or_throw(src[0])))
        throw Failure("all buffers of a kernel must be on the same device, not on " + device_of(src[0]).repr() +
                      " and " + device_of(s).repr());
  src.insert(src.end(), ctx.vars.begin(), ctx.vars.end());
  return graph.node(Op::KERNEL, dtypes::void_, src, graph.record(RecordClass::Kernel, {ast, graph.tuple({})}));
}

bool becomes_tensor(UOp u) {
  return u.tag().is_tuple() && !u.tag().items().empty() &&
         base_of(u).in({Op::BUFFERIZE, Op::MSTACK, Op::CONST, Op::BUFFER, Op::AFTER});
}

}  // namespace

const RuleSet& pm_add_range_tags() {
  static const RuleSet set("pm_add_range_tags", {
      rule("mark-range", node(Op::RANGE).as(x), with(x, [](UOp x) { return x.rtag(x.graph().tuple({})); })),
  });
  return set;
}

const RuleSet& bufferize_to_store_stage() {
  static const RuleSet set("bufferize to store", {&pm_add_buffers(), &pm_add_range_tags()});
  return set;
}

UOp bufferize_to_store(UOp sink) {
  std::vector<UOp> tensors;
  for (UOp u : backward_slice(sink))
    if (becomes_tensor(u)) tensors.push_back(u);
  sink = sink.graph().sink(tensors);
  KernelSplitContext ctx;
  for (UOp u : toposort(sink))
    if (u.is(Op::LUNIQUE))
      ctx.next_buffer_number =
          std::max(ctx.next_buffer_number, u.arg().as_int().int64_or_throw("the number of a buffer") + 1);
  return graph_rewrite(sink, bufferize_to_store_stage(), {.ctx = ctx, .bottom_up = true, .name = "bufferize to store"});
}

const RuleSet& to_define_global() {
  static const RuleSet set(
      "to_define_global",
      {
          rule("one-state-of-a-buffer", node(Op::STORE).as(x), with<find_bufs>(x)),
          rule("define-global", node(Op::BUFFER).as(buf), with<define_global>(buf)),
          rule("unbind", node(Op::BIND).as(b), with<unbind>(b)),
          rule("buffer-of-after", node({Op::MSTACK, Op::MSELECT, Op::AFTER}).as(a), with<buffer_of_after>(a)),
          rule("const-drops-sources", node({Op::CONST, Op::DEFINE_VAR}).as(x),
               with(x, [](UOp x) { return x.with_src({}); })),
          rule("range-of-one", node(Op::RANGE).as(r),
               with(r, [](UOp r) { return py_equal(r.vmax(), 0) ? r.graph().constant(dtypes::index, 0) : UOp(); })),
      // tagged range -> range with the next number from 0, so that equal kernels have equal ASTs; if OUTER, a BIND
          rule("renumber-range", node(Op::RANGE).as(r), with<renumber_range>(r)),
      });
  return set;
}

const RuleSet& pm_remove_tags() {
  static const RuleSet set("pm_remove_tags",
                           {
                               rule("remove-tag", node(OpSet::all()).as(x),
                                    with(x, [](UOp x) { return is_empty_tuple(x.tag()) ? UOp() : x.rtag({}); })),
                           });
  return set;
}

const RuleSet& kernel_split() {
  static const RuleSet set("kernel split",
                           {&to_define_global(), &pm_flatten_range(), &rangeify_codegen(), &pm_remove_tags()});
  return set;
}

const RuleSet& split_kernels_rules() {
  static const RuleSet set("split_kernels", {
      rule("split-store", node({Op::STORE, Op::END}).as(x), with<split_store>(x)),
  });
  return set;
}

UOp split_kernels(UOp sink) { return graph_rewrite(sink, split_kernels_rules(), {.name = "split kernels"}); }

UOp fix_assign(UOp sink) {
  std::unordered_map<UOp, UOp> assigned;
  Substitution fixes;
  for (UOp u : toposort(sink)) {
    if (!u.is(Op::AFTER)) continue;
    UOp buffer = buf_uop(u);
    assigned[buffer] = u;
    for (UOp s : u.src(1).src()) {
      if (!s.is(Op::BUFFER) || s == buffer) continue;
      auto later = assigned.find(s);
      if (later == assigned.end()) continue;
      for (UOp x : toposort(u))
        if (x.is(Op::AFTER) && buf_uop(x) == s)
          throw Failure("cycle detected in graph: the kernel for buffer " + buffer.src(0).arg().repr() +
                        " reads buffer " + s.src(0).arg().repr() + " both before and after it is assigned");
      UOp before = later->second;
      std::vector<UOp> src(before.src().begin(), before.src().end());
      src.push_back(u);
      later->second = before.with_src(src);
      fixes.emplace_back(before, later->second);
    }
  }
  return substitute(sink, fixes, nullptr, "fix_assign");
}

const RuleSet& remove_all_tags() {
  static const RuleSet set("_remove_all_tags", {
      rule("remove-tag", node(OpSet::all()).as(x), with(x, [](UOp x) { return x.rtag({}); })),
  });
  return set;
}

}  // namespace tgc
