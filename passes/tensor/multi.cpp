#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/movement.h"

namespace tgc {

using namespace pat;

UOp make_device_node(Graph& graph, Arg device) { return graph.node(Op::DEVICE, dtypes::void_, {}, device); }
UOp mselect(UOp u, int64_t device) { return u.graph().node(Op::MSELECT, u.dtype(), u, device); }
UOp mstack(UOp like, std::span<const UOp> parts) { return like.graph().node(Op::MSTACK, like.dtype(), parts); }

namespace {
size_t num_devices(UOp u) {
  Arg device = device_of(u);
  if (!device.is_tuple())
    throw Failure("Ops." + std::string(name_of(u.op())) + " must be on several devices, not on " + device.repr());
  return device.items().size();
}
}  // namespace

UOp multi(UOp part, int64_t axis) {
  num_devices(part);
  return part.graph().node(Op::MULTI, part.dtype(), part, axis);
}

UOp copy_to_device(UOp u, Arg device) {
  return u.graph().node(Op::COPY, u.dtype(), {u, make_device_node(u.graph(), device)});
}
UOp copy_to_device(UOp u, Arg device, int64_t from) {
  num_devices(u);
  return copy_to_device(mselect(u, from), device);
}

UOp allreduce(UOp u, Op op, UOp device) {
  num_devices(u);
  return u.graph().node(Op::ALLREDUCE, u.dtype(), {u, device}, op);
}

UOp device_number_in(UOp u) {
  for (UOp v : toposort(u))
    if (v.is(Op::DEFINE_VAR) && v.arg()[0].is_str() && v.arg()[0].text() == "_device_num") return v;
  return {};
}

namespace {
UOp device_number(UOp u) { return u.graph().variable("_device_num", 0, int64_t(num_devices(u)) - 1); }
}  // namespace

UOp unshard(UOp u, int64_t axis) {
  Shape shape = shape_of(u);
  Sint part = shape[size_t(axis)], number = device_number(u), before = part * number;
  std::vector<std::pair<Sint, Sint>> amounts(shape.size(), {0, 0});
  amounts[size_t(axis)] = {before, part * Sint(int64_t(num_devices(u)) - 1) - before};
  return pad(u, amounts);
}

UOp shard(UOp u, int64_t axis) {
  Shape shape = shape_of(u);
  Sint whole = shape[size_t(axis)], count = int64_t(num_devices(u));
  if (py_ne(mod(whole, count), 0))
    throw Failure("axis " + std::to_string(axis) + " of size " + whole.str() + " cannot be divided among " +
                  count.str() + " devices");
  Sint part = floor_div(whole, count), begin = Sint(device_number(u)) * part;
  std::vector<std::pair<Sint, Sint>> bounds;
  for (Sint s : shape) bounds.emplace_back(0, s);
  bounds[size_t(axis)] = {begin, begin + part};
  return shrink(u, bounds);
}

namespace {

int64_t axis_or_throw(UOp u) {
  auto axis = axis_of(u);
  if (!axis) throw Failure("Ops." + std::string(name_of(u.op())) + " is not sharded along an axis");
  return *axis;
}

// Applies the op to each device's parts of its operands. Shards operands that are not sharded. Gathers operands that
// are sharded along another axis, and shards them along the axis of the op.
UOp alu_multi(UOp root) {
  for (UOp s : root.src())
    if (!(device_or_throw(s) == device_or_throw(root.src(0))))
      throw Failure("all operands must have the same device, not " + device_of(root.src(0)).repr() + " and " +
                    device_of(s).repr());
  int64_t axis = axis_or_throw(root);
  std::vector<UOp> src;
  for (UOp s : root.src()) {
    auto own = axis_of(s);
    if (!own) {
      src.push_back(shard(s, axis));
      continue;
    }
    if (!s.is(Op::MULTI)) throw Failure("a sharded operand must be a MULTI, not Ops." + std::string(name_of(s.op())));
    if (*own == axis) src.push_back(s.src(0));
    else
      src.push_back(
          shard(allreduce(unshard(s.src(0), *own), Op::ADD, make_device_node(s.graph(), device_of(s))), axis));
  }
  return multi(src[0].alu(root.op(), UOpSpan(std::span(src).subspan(1))), axis);
}

int64_t axis_of_multi(UOp m) { return m.arg().small_int(); }

std::vector<int64_t> reduced_axes(UOp reduce) {
  std::vector<int64_t> axes;
  for (Arg a : reduce.arg()[1].items()) axes.push_back(a.small_int());
  return axes;
}

UOp reduce_multi(UOp root, UOp m) {
  Op op = root.arg()[0].op();
  auto axes = reduced_axes(root);
  UOp part = reduce_axis(m.src(0), op, axes);
  if (std::ranges::find(axes, axis_of_multi(m)) == axes.end()) return multi(part, axis_of_multi(m));
  return allreduce(part, op, make_device_node(m.graph(), device_of(m)));
}

UOp reshape_multi(UOp root, UOp m) {
  auto axis = size_t(axis_or_throw(root));
  ShapeVec to = marg_shape(root);
  Shape part = shape_of(m.src(0));
  Sint after = prod(Shape(to).subspan(std::min(axis + 1, to.size())));
  Sint own = prod(part.subspan(size_t(axis_of_multi(m))));
  if (py_ne(mod(own, after), 0))
    throw Failure("a reshape cannot move items between shards: " + str(shape_of(m)) + " -> " + str(to));
  if (axis < to.size()) to[axis] = floor_div(own, after);
  return multi(reshape(m.src(0), to), int64_t(axis));
}

UOp expand_multi(UOp root, UOp m) {
  auto axis = size_t(axis_of_multi(m));
  ShapeVec to = marg_shape(root);
  if (!(to[axis] == shape_of(m)[axis]))
    throw Failure("cannot expand a sharded axis: " + str(shape_of(m)) + " -> " + str(to));
  to[axis] = shape_of(m.src(0))[axis];
  return multi(expand(m.src(0), to), int64_t(axis));
}

UOp pad_multi(UOp root, UOp m) {
  auto amounts = marg_pairs(root);
  if (amounts[size_t(axis_of_multi(m))] != std::pair<Sint, Sint>(0, 0)) throw Failure("cannot pad a sharded axis");
  return multi(pad(m.src(0), amounts), axis_of_multi(m));
}

UOp permute_multi(UOp root, UOp m) {
  std::vector<int64_t> order;
  for (Arg a : root.arg().items()) order.push_back(a.small_int());
  return multi(permute(m.src(0), order), axis_or_throw(root));
}

std::vector<std::pair<Sint, Sint>> part_bounds_of(UOp m) {
  std::vector<std::pair<Sint, Sint>> out;
  Sint at = 0, part = shape_of(m.src(0))[size_t(axis_of_multi(m))];
  for (size_t i = 0; i < num_devices(m); i++) {
    out.emplace_back(at, at + part);
    at = at + part;
  }
  return out;
}

UOp shrink_multi(UOp root, UOp m) {
  auto axis = size_t(axis_of_multi(m));
  auto asked = marg_pairs(root);
  Shape shape = shape_of(m);
  if (asked[axis] != std::pair(Sint(0), shape[axis])) {  // only one device's part remains: copy it to all devices
    auto parts = part_bounds_of(m);
    auto at = std::ranges::find(parts, asked[axis]);
    if (at == parts.end()) throw Failure("cannot shrink a sharded axis to bounds that are not one device's part");
    for (size_t i = 0; i < asked.size(); i++)
      if (i != axis && asked[i] != std::pair(Sint(0), shape[i]))
        throw Failure("cannot shrink sharded and non-sharded axis at the same time");
    return copy_to_device(m.src(0), device_of(m), at - parts.begin());
  }
  asked[axis] = {0, shape_of(m.src(0))[axis]};
  return multi(shrink(m.src(0), asked), int64_t(axis));
}

UOp flip_multi(UOp root, UOp m) {
  auto items = root.arg().items();
  auto axes = std::make_unique<bool[]>(items.size());
  for (size_t i = 0; i < items.size(); i++) axes[i] = items[i].as_bool();
  if (axes[size_t(axis_of_multi(m))]) throw Failure("cannot flip a sharded axis");
  return multi(flip(m.src(0), std::span<const bool>(axes.get(), items.size())), axis_of_multi(m));
}

UOp assign_multi(UOp d, UOp s) {
  if (axis_of(d) != axis_of(s)) throw Failure("axis must match in assign");
  return multi(d.src(0).assign(s.src(0)), axis_of_multi(s));
}

UOp parts_of_sources(UOp u) {
  std::vector<UOp> src;
  for (UOp s : u.src()) src.push_back(s.is(Op::MULTI) ? s.src(0) : s);
  return u.with_src(src);
}

}  // namespace

const RuleSet& multi_pm() {
  auto multi_m = node(Op::MULTI).as(m);
  static const RuleSet own(
      "multi_pm",
      {
          rule("alu-multi", node(ops::ALU).as(root).early_reject(Op::MULTI), with<alu_multi>(root)),
          rule("reduce-multi", node(Op::REDUCE_AXIS, multi_m).as(root), with<reduce_multi>(root, m)),
          rule("reshape-multi", node(Op::RESHAPE, multi_m, anything()).as(root), with<reshape_multi>(root, m)),
          rule("expand-multi", node(Op::EXPAND, multi_m, anything()).as(root), with<expand_multi>(root, m)),
          rule("pad-multi", node(Op::PAD, multi_m, anything(), anything()).as(root), with<pad_multi>(root, m)),
          rule("shrink-multi", node(Op::SHRINK, multi_m, anything(), anything()).as(root), with<shrink_multi>(root, m)),
          rule("permute-multi", node(Op::PERMUTE, multi_m).as(root), with<permute_multi>(root, m)),
          rule("flip-multi", node(Op::FLIP, multi_m).as(root), with<flip_multi>(root, m)),
          rule("assign-multi", node(Op::ASSIGN, node(Op::MULTI).as(d), node(Op::MULTI).as(s)),
               with<assign_multi>(d, s)),
          rule("copy-multi", node(Op::COPY, multi_m, node(Op::DEVICE).as(d)),
               with(m, d, [](UOp m, UOp d) { return allreduce(unshard(m.src(0), axis_of_multi(m)), Op::ADD, d); })),
          rule("allreduce-multi", node(Op::ALLREDUCE, multi_m, node(Op::DEVICE).as(d)).as(red),
               with(m, d, red,
                    [](UOp m, UOp d, UOp red) {
                      return multi(allreduce(m.src(0), red.arg().op(), d), axis_of_multi(m));
                    })),
          rule("pass-through-multi",
               node({Op::CAST, Op::BITCAST, Op::CONTIGUOUS, Op::DETACH, Op::CONTIGUOUS_BACKWARD}, multi_m).as(root),
               with(root, m,
                    [](UOp root, UOp m) {
                      return multi(root.graph().node(root.op(), root.dtype(), m.src(0), root.arg()), axis_of_multi(m));
                    })),
          rule("custom-kernel-of-multi", each(Op::CUSTOM_KERNEL, node({Op::MULTI, Op::CONTIGUOUS})).as(x),
               with<parts_of_sources>(x)),
          rule("after-custom-kernel-of-multi", node(Op::AFTER, multi_m, node(Op::CUSTOM_KERNEL)).as(a),
               with(m, a, [](UOp m, UOp a) { return multi(a.with_src({m.src(0), a.src(1)}), axis_of_multi(m)); })),
      });
  static const RuleSet set("multi_pm", {&own, &replace_allreduce()});
  return set;
}

// Checks only DEVICE, BUFFERIZE and MSTACK, because every other node inherits the devices of a source.
bool is_multi_device(UOp sink) {
  return std::ranges::any_of(cached_toposort(sink), [](UOp u) {
    return u.in({Op::DEVICE, Op::BUFFERIZE, Op::MSTACK}) && device_of(u).is_tuple();
  });
}

UOp rewrite_multi(TensorJob& job, UOp sink) {
  if (!is_multi_device(sink)) return job.scheduled_sink = sink;
  job.multi_map = graph_rewrite_map(sink, multi_pm(), {.name = "multi_pm"});
  UOp single = substitute(sink, job.multi_map, nullptr, "Apply Multi Map");
  std::vector<UOp> src;
  for (UOp s : single.src()) {
    if (s.is(Op::MULTI)) src.insert(src.end(), s.src().begin(), s.src().end());
    else src.push_back(s);
  }
  return job.scheduled_sink = job.graph.sink(src);
}

}  // namespace tgc
