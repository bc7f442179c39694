#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/movement.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

BufferizeOpts BufferizeOpts::of(UOp bufferize) {
  Arg a = bufferize.arg();
  if (!a.is(RecordClass::BufferizeOpts))
    throw Failure("a BUFFERIZE has the argument " + a.repr() + ", expected BufferizeOpts");
  return {a[0], a[1].addrspace(), a[2].as_bool()};
}

Arg BufferizeOpts::arg(Graph& graph) const {
  return graph.record(RecordClass::BufferizeOpts, {device, addrspace, is_removable});
}

UOp bufferize(UOp value, std::span<const UOp> ranges, const BufferizeOpts& opts, Arg tag) {
  Graph& graph = value.graph();
  return graph.node(Op::BUFFERIZE, value.dtype(), prepend(value, ranges), opts.arg(graph), tag);
}

namespace {

UOp make_store(UOp to, UOp value, Arg tag) { return to.graph().node(Op::STORE, dtypes::void_, {to, value}, {}, tag); }

// `size` is in elements.
UOp new_buffer(LocalAddBufferContext& ctx, UOp x, Int size, Arg device) {
  Graph& graph = x.graph();
  UOp number = graph.node(Op::LUNIQUE, dtypes::void_, {}, ctx.next_buffer_number++);
  return graph.node(Op::BUFFER, x.dtype(), {number, graph.node(Op::DEVICE, dtypes::void_, {}, device)}, size);
}

std::vector<UOp> sorted_ranges(UOp index) {
  auto ranges = ranges_of(index);
  std::vector<UOp> out(ranges.begin(), ranges.end());
  std::stable_sort(out.begin(), out.end(), [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
  return out;
}

UOp apply_same_movements(UOp from, UOp to) {
  std::vector<UOp> movements;
  for (UOp base = base_of(from); !(from == base); from = from.src(0)) movements.push_back(from);
  for (size_t i = movements.size(); i-- > 0;) {
    UOp m = movements[i];
    if (m.in({Op::RESHAPE, Op::EXPAND})) to = make_shape_movement(to, m.op(), marg_shape(m));
    else if (m.in({Op::PAD, Op::SHRINK})) to = make_pairs_movement(to, m.op(), marg_pairs(m));
    else if (m.in({Op::PERMUTE, Op::FLIP})) to = to.graph().node(m.op(), to.dtype(), to, m.arg());
    else throw Failure("cannot assign through Ops." + std::string(name_of(m.op())));
  }
  return to;
}

// Returns the target's buffer after the store, with the movement ops of the ASSIGN's third source.
UOp assign_to_store(UOp x, DType pointer, const std::vector<UOp>& ranges) {
  UOp assign = x.src(0);
  if (assign.num_src() != 3)
    throw Failure("an ASSIGN has " + std::to_string(assign.num_src()) + " sources, expected 3");
  UOp target = assign.src(0);
  if (!target.is(Op::INDEX))
    throw Failure("an ASSIGN to Ops." + std::string(name_of(target.op())) + ", expected INDEX");
  UOp done = make_store(target.with_dtype(pointer), assign.src(1), x.tag()).end(ranges);
  return apply_same_movements(assign.src(2), target.src(0).after(done));
}

bool is_outer(UOp range) { return range.is(Op::RANGE) && range.arg().items().back() == Arg(AxisType::OUTER); }

// Lowers a reduction over an OUTER range (a loop around kernels): zeroes the buffer once, then adds to it in each
// iteration.
UOp outer_reduce_to_store(LocalAddBufferContext& ctx, UOp x, UOp idx, Int size, DType pointer,
                          const std::vector<UOp>& ranges) {
  if (pointer.addrspace() != AddrSpace::GLOBAL) throw Failure("a reduction over an OUTER range needs a global buffer");
  Graph& graph = x.graph();
  UOp reduce = x.src(0), outer = reduce.src(1);
  UOp buffer = new_buffer(ctx, x, size, BufferizeOpts::of(x).device);
  std::vector<Arg> axis(outer.arg().items().begin(), outer.arg().items().end());
  axis.back() = AxisType::LOOP;
  UOp zero_range =
      graph.node(Op::RANGE, outer.dtype(), graph.constant(dtypes::index, size), graph.tuple(axis), outer.tag());
  UOp element = buffer.index(zero_range);
  UOp zeroed = buffer.after(element.store(graph.constant(element.dtype(), 0)).end(zero_range));
  UOp target = zeroed.index(idx, pointer);
  UOp done = make_store(target, target.load() + reduce.src(0), x.tag()).end(ranges).end(outer);
  return zeroed.after(done);
}

UOp bufferize_to_store(LocalAddBufferContext& ctx, UOp x, UOp idx, bool allow_locals) {
  BufferizeOpts opts = BufferizeOpts::of(x);
  Int size = prod(shape_of(x)).as_int();
  auto ranges = sorted_ranges(idx);
  if (size <= 0) throw Failure("a BUFFERIZE has the size " + size.str() + ", expected at least 1");
  DType pointer = x.dtype().ptr(size.int64_or_throw("the size of a buffer"), opts.addrspace);
  if (x.src(0).is(Op::ASSIGN)) return assign_to_store(x, pointer, ranges);
  if (x.src(0).is(Op::REDUCE) && x.src(0).num_src() == 2 && is_outer(x.src(0).src(1)))
    return outer_reduce_to_store(ctx, x, idx, size, pointer, ranges);
  if (pointer.addrspace() == AddrSpace::GLOBAL) {
    UOp buffer = new_buffer(ctx, x, size, opts.device);
    return buffer.after(make_store(buffer.index(idx, pointer), x.src(0), x.tag()).end(ranges));
  }
  if (!allow_locals) return {};
  UOp buffer = x.graph().node(Op::DEFINE_LOCAL, pointer, {}, ctx.next_buffer_number++);
  UOp done = buffer.broadcast(idx.dtype().count()).index(idx, pointer).store(x.src(0)).end(ranges);
  return buffer.after(done.barrier({}));
}

UOp flatten_bufferize(UOp x) {
  if (x.tag().is_none() && x.num_src() == 2) return {};
  Graph& graph = x.graph();
  auto ranges = x.src().subspan(1);
  Shape shape = shape_of(x);
  auto flat = apply_reshape(graph, ShapeVec{prod(shape)}, shape, ranges);
  UOp out = force_reshape(graph.node(Op::BUFFERIZE, x.dtype(), {x.src(0), flat[0]}, x.arg()), shape);
  if (std::any_of(ranges.begin(), ranges.end(), [](UOp r) { return r.is(Op::RANGE) && !r.src(0).is_const(); })) {
    std::vector<std::pair<Sint, Sint>> bounds;  // shrinks each axis to the size of its range, which may be symbolic
    for (UOp r : ranges) bounds.emplace_back(0, r.is_const() ? Sint(1) : Sint(r.src(0)));
    out = shrink(out, bounds);
  }
  return out.rtag(x.tag());
}

bool is_file_device(Arg device) {
  return device.is_str() && (device.text().starts_with("DISK") || device.text().starts_with("TINYFS"));
}

bool has_index_source(UOp u) {
  return std::any_of(u.src().begin(), u.src().end(), [](UOp s) { return s.is(Op::INDEX); });
}

// Replaces `t`, the CONTIGUOUS or BITCAST that the BUFFERIZE `b` stores, by a BUFFER_VIEW if the device of `b` is a
// file. Else returns `b` unchanged.
UOp late_buffer_view(UOp t, UOp b) {
  if (!is_file_device(device_or_throw(b))) return b;
  Shape shape = shape_of(b);
  UOp x = t;
  while (!has_index_source(x)) {
    if (x.in(ops::Elementwise) || x.num_src() == 0)
      throw Failure("cannot view Ops." + std::string(name_of(x.op())) + " of a file");
    x = x.src(0);
  }
  x = *std::find_if(x.src().begin(), x.src().end(), [](UOp s) { return s.is(Op::INDEX); });
  Arg offset;
  if (shape.empty()) {
    offset = x.src(1).arg();
  } else {
    Int least = 0;
    for (UOp i : x.src().subspan(1)) least = least + i.vmin().as_int();
    offset = least < 0 ? Int(0) : least;
  }
  Graph& graph = b.graph();
  Arg size_and_offset = graph.tuple({prod(shape).arg(), offset});
  return with_first_source(b, graph.node(Op::BUFFER_VIEW, t.dtype(), base_of(x), size_and_offset, t.tag()));
}

UOp reshape_above_choice(UOp m) {
  std::vector<UOp> src;
  for (UOp s : m.src()) src.push_back(base_of(s.src(0)));
  return reshape(m.replace({.src = src, .tag = Arg()}), shape_of(m)).rtag(m.tag());
}

UOp kernel_without_reshapes(UOp k) {
  std::vector<UOp> src;
  for (UOp s : k.src()) src.push_back(s.is(Op::RESHAPE) ? s.src(0) : s);
  return k.with_src(src);
}

// A tuple of Opts in the arg of the CONTIGUOUS becomes the kernel's opts_to_apply.
UOp drop_contiguous(LocalAddBufferContext& ctx, UOp x) {
  Arg a = x.arg();
  if (a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), [](Arg o) { return o.is(RecordClass::Opt); }))
    ctx.opts = a;
  return x.src(0);
}

UOp load_from_local(UOp buffer, UOp idx) {
  if (idx.dtype().is_ptr()) return {};
  return idx.replace({.dtype = buffer.dtype(), .arg = Arg()})
      .load({}, buffer.dtype().base().scalar().vec(buffer.dtype().vcount()));
}

}  // namespace

const RuleSet& pm_flatten_bufferize() {
  static const RuleSet set("pm_flatten_bufferize", {
      rule("flatten-bufferize", node(Op::BUFFERIZE).as(x), with<flatten_bufferize>(x)),
  });
  return set;
}

const RuleSet& to_bufferview() {
  static const RuleSet set(
      "to_bufferview",
      {
          rule("bufferize-of-file", any_len(Op::BUFFERIZE, node({Op::BITCAST, Op::CONTIGUOUS}).as(t)).as(b),
               with<late_buffer_view>(t, b)),
          rule("view-drops-contiguous", node(Op::BUFFER_VIEW, node({Op::BITCAST, Op::CONTIGUOUS})).as(b),
               with(b, [](UOp b) { return b.with_src(b.src(0).src()); })),
      });
  return set;
}

const RuleSet& pm_add_buffers() {
  static const RuleSet own("pm_add_buffers",
                           {
                               rule("bufferize-to-store", node(Op::BUFFERIZE, anything(), idx).as(x),
                                    with_ctx<LocalAddBufferContext>(x, idx,
                                                                    [](LocalAddBufferContext& ctx, UOp x, UOp idx) {
                                                                      return bufferize_to_store(ctx, x, idx, false);
                                                                    })),
      // mstack(reshape(x), reshape(y)) -> reshape(mstack(x, y)), and the same for MSELECT
                               rule("reshape-above-choice", each({Op::MSELECT, Op::MSTACK}, node(Op::RESHAPE)).as(m),
                                    with<reshape_above_choice>(m)),
                               rule("kernel-drops-reshapes", node(Op::KERNEL).as(x), with<kernel_without_reshapes>(x)),
                           });
  static const RuleSet set("pm_add_buffers", {&pm_mops(), &pm_flatten_bufferize(), &to_bufferview(), &own});
  return set;
}

const RuleSet& pm_add_buffers_local() {
  static const RuleSet own("pm_add_buffers_local", {
      rule("bufferize-to-local-store", node(Op::BUFFERIZE, anything(), idx).as(x),
           with_ctx<LocalAddBufferContext>(x, idx, [](LocalAddBufferContext& ctx, UOp x, UOp idx) {
             return bufferize_to_store(ctx, x, idx, true);
           })),
  });
  static const RuleSet set("pm_add_buffers_local", {&pm_mops(), &pm_flatten_bufferize(), &to_bufferview(), &own});
  return set;
}

const RuleSet& rangeify_codegen() {
  auto local_after = any_len(Op::AFTER, node(Op::DEFINE_LOCAL));
  static const RuleSet set(
      "rangeify_codegen",
      {
          rule("drop-contiguous", node(Op::CONTIGUOUS).as(x), with<drop_contiguous>(x)),
          rule("drop-noop", node(Op::NOOP).as(x),
               with(x,
                    [](UOp x) {
                      return x.num_src() ? x.src(0) : throw Failure("a NOOP without a source in a kernel");
                    })),
          rule("store-drops-arg", node(Op::STORE).as(x), with(x, [](UOp x) { return x.with_arg({}); })),
          rule("broadcast-of-after", each(Op::VECTORIZE, node(Op::AFTER).as(a)).as(b),
               with(a, b, [](UOp a, UOp b) { return a.broadcast(int64_t(b.num_src())); })),
          rule("load-broadcast-local", any_len(Op::INDEX, each(Op::VECTORIZE, local_after).as(d)).as(idx),
               with<load_from_local>(d, idx)),
          rule("gep-of-after", node(Op::GEP, node(Op::AFTER).as(a)).as(b),
               with(a, b,
                    [](UOp a, UOp b) {
                      std::vector<int64_t> elements;
                      for (Arg i : b.arg().items()) elements.push_back(i.small_int());
                      return a.gep(elements);
                    })),
          rule("load-gep-local", any_len(Op::INDEX, node(Op::GEP, local_after).as(d)).as(idx),
               with<load_from_local>(d, idx)),
      });
  return set;
}

const RuleSet& add_local_buffers_rules() {
  static const RuleSet set("add local buffers", {&pm_add_buffers_local(), &rangeify_codegen()});
  return set;
}

UOp add_local_buffers(UOp sink) {
  LocalAddBufferContext ctx;
  return graph_rewrite(sink, add_local_buffers_rules(), {.ctx = ctx, .name = "add local buffers"});
}

}  // namespace tgc
