// Computes shape, device and sharding axis (uop/ops.py: _shape, _device, axis); reads the arguments of movement ops;
// and finds the base_of and the buf_target of a node.
#include <algorithm>

#include "lib/uop/bottom_up.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/movement.h"

namespace tgc {

struct alignas(Sint) ShapeFact {  // a header; `size` Sints follow the header in memory
  uint32_t size;
};
struct DeviceFact {
  Arg device;
};

namespace {

constexpr ShapeFact kNoShape{0};

Shape shape_view(const ShapeFact* fact) { return {reinterpret_cast<const Sint*>(fact + 1), fact->size}; }

std::optional<Shape> cached_shape(UOp u) {
  const ShapeFact* fact = u.node()->shape;
  if (fact == &kNoShape) return std::nullopt;
  return shape_view(fact);
}

[[noreturn]] void throw_node_error(UOp u, const std::string& what) {
  throw Failure("Ops." + std::string(name_of(u.op())) + ": " + what);
}

bool are_all_nonnegative(Shape shape) {
  return std::all_of(shape.begin(), shape.end(), [](Sint s) { return resolve_le(0, s); });
}

const ShapeFact* make_shape_fact(Graph& graph, Shape shape) {
  static_assert(sizeof(ShapeFact) % alignof(Sint) == 0);
  auto* fact =
      static_cast<ShapeFact*>(graph.arena().allocate(sizeof(ShapeFact) + shape.size_bytes(), alignof(ShapeFact)));
  fact->size = uint32_t(shape.size());
  std::copy(shape.begin(), shape.end(), reinterpret_cast<Sint*>(fact + 1));
  return fact;
}

ShapeVec movement_shape(UOp u, Shape from) {
  switch (u.op()) {
    case Op::RESHAPE: {
      ShapeVec to = marg_shape(u);
      if (!are_all_nonnegative(to)) throw_node_error(u, "shape can't contain negative numbers " + str(to));
      if (py_ne(prod(from), prod(to))) throw_node_error(u, "bad reshape: " + str(from) + " -> " + str(to));
      return to;
    }
    case Op::EXPAND: {
      ShapeVec to = marg_shape(u);
      bool fits = from.size() == to.size();
      for (size_t i = 0; fits && i < to.size(); i++)
        fits = from[i] == to[i] || (from[i] == Sint(1) && resolve_le(0, to[i]));
      if (!fits) throw_node_error(u, "bad expand: " + str(from) + " -> " + str(to));
      return to;
    }
    case Op::PERMUTE: {
      ShapeVec to;
      std::vector<bool> seen(from.size());
      for (Arg a : u.arg().is_tuple() ? u.arg().items() : std::span<const Arg>()) {
        if (!a.is_integral() || a.as_int() < 0 || a.as_int() >= Int(int64_t(from.size())) ||
            seen[size_t(a.small_int())])
          break;
        seen[size_t(a.small_int())] = true;
        to.push_back(from[size_t(a.small_int())]);
      }
      if (to.size() != from.size() || to.size() != u.arg().items().size())
        throw_node_error(u, "invalid permutation " + u.arg().repr() + " of " + str(from));
      return to;
    }
    case Op::PAD: {
      auto pairs = marg_pairs(u);
      bool fits = pairs.size() == from.size();
      for (size_t i = 0; fits && i < pairs.size(); i++)
        fits = resolve_le(0, pairs[i].first) && resolve_le(0, pairs[i].second);
      if (!fits) throw_node_error(u, "invalid pad of " + str(from));
      ShapeVec to;
      for (size_t i = 0; i < from.size(); i++) to.push_back(ssimplify(from[i] + pairs[i].first + pairs[i].second));
      return to;
    }
    case Op::SHRINK: {
      auto pairs = marg_pairs(u);
      bool fits = pairs.size() == from.size();
      for (size_t i = 0; fits && i < pairs.size(); i++) {
        auto [b, e] = pairs[i];
        fits = resolve_le(0, b) && resolve_le(b, e) && resolve_le(e, from[i]);
      }
      if (!fits) throw_node_error(u, "invalid shrink of " + str(from));
      ShapeVec to;
      for (auto [b, e] : pairs) to.push_back(ssimplify(e - b));
      return to;
    }
    case Op::FLIP: {
      bool fits = u.arg().is_tuple() && u.arg().items().size() == from.size();
      for (size_t i = 0; fits && i < from.size(); i++) fits = u.arg()[i].kind() == Arg::Kind::Bool;
      if (!fits) throw_node_error(u, "bad flip on " + str(from) + ", " + u.arg().repr());
      return ShapeVec(from.begin(), from.end());
    }
    case Op::MULTI: {
      Arg device = device_of(u);
      if (!device.is_tuple()) throw_node_error(u, "is not on several devices");
      ShapeVec to(from.begin(), from.end());
      auto axis = axis_of(u);
      if (axis && *axis >= 0 && size_t(*axis) < to.size())
        to[size_t(*axis)] = to[size_t(*axis)] * Sint(int64_t(device.items().size()));
      return to;
    }
    default: {  // REDUCE_AXIS, WMMA
      size_t at = u.is(Op::WMMA) ? 7 : 1;
      if (!u.arg().is_tuple() || u.arg().items().size() <= at || !u.arg()[at].is_tuple())
        throw_node_error(u, "invalid axis argument " + u.arg().repr());
      ShapeVec to(from.begin(), from.end());
      for (Arg a : u.arg()[at].items()) {
        if (!a.is_integral() || a.as_int() < 0 || a.as_int() >= Int(int64_t(to.size())))
          throw_node_error(u, "invalid axis " + a.repr() + " of " + str(from));
        to[size_t(a.small_int())] = 1;
      }
      return to;
    }
  }
}

const ShapeFact* compute_shape(UOp u) {
  auto made = [&](const ShapeVec& shape) { return make_shape_fact(u.graph(), shape); };
  auto shape_of_source = [&](size_t i) { return i < u.num_src() ? u.src(i).node()->shape : &kNoShape; };
  auto src = [&](size_t i) { return i < u.num_src() ? cached_shape(u.src(i)) : std::nullopt; };
  switch (u.op()) {
    case Op::UNIQUE: case Op::LUNIQUE: case Op::DEVICE: case Op::RANGE: case Op::LOAD: case Op::IF: case Op::BARRIER:
    case Op::CUSTOM: case Op::CUSTOMI: case Op::VECTORIZE: case Op::VCONST: case Op::GEP: case Op::SPECIAL:
    case Op::UNROLL: case Op::CONTRACT:
    case Op::CUSTOM_KERNEL: case Op::LINEAR: case Op::PROGRAM: case Op::SOURCE: case Op::BINARY:
      return &kNoShape;
    case Op::INDEX: {
      if (!u.dtype().is_ptr()) return &kNoShape;
      auto shape = src(0);
      if (!shape || u.num_src() - 1 == shape->size()) return &kNoShape;
      if (u.num_src() - 1 > shape->size()) return made({});
      return make_shape_fact(u.graph(), shape->subspan(u.num_src() - 1));
    }
    case Op::CONST: case Op::DEFINE_VAR: case Op::BIND:
      return device_of(u).is_none() ? &kNoShape : made({});
    case Op::BUFFER: return made({Sint(u.arg())});
    case Op::BUFFER_VIEW: return made({Sint(u.arg()[0])});
    case Op::ENCDEC: {
      ShapeVec out;
      for (Arg a : u.arg()[0].items()) out.push_back(Sint(a));
      return made(out);
    }
    case Op::BUFFERIZE: {
      ShapeVec out;
      for (UOp r : u.src().subspan(1)) out.push_back(py_add(r.vmax(), 1).to_int());
      return made(out);
    }
    case Op::DEFINE_GLOBAL: case Op::DEFINE_LOCAL: case Op::DEFINE_REG:
      if (!u.dtype().is_ptr())
        throw_node_error(u, "has the type " + std::string(u.dtype().repr()) + ", expected a pointer");
      return made({u.dtype().size()});
    case Op::REDUCE: case Op::MSTACK: case Op::MSELECT: case Op::DETACH: case Op::CONTIGUOUS:
    case Op::CONTIGUOUS_BACKWARD:
    case Op::AFTER: case Op::END:
      return shape_of_source(0);
    case Op::KERNEL:
      if (!u.arg().is(RecordClass::Kernel)) throw_node_error(u, "has no Kernel argument");
      shape_or_none(u.arg()[0].uop());
      return u.arg()[0].uop().node()->shape;
    case Op::BITCAST: {
      auto shape = src(0);
      if (!shape) return &kNoShape;
      ShapeVec out(shape->begin(), shape->end());
      int to = u.dtype().itemsize(), from = u.src(0).dtype().itemsize();
      if (to != from && !out.empty()) out.back() = ssimplify(floor_div(out.back() * Sint(from), Sint(to)));
      return made(out);
    }
    default: break;
  }
  if (u.is(Op::RESHAPE) && !src(0)) return made(marg_shape(u));
  if (u.in(ops::Movement | OpSet{Op::MULTI, Op::REDUCE_AXIS, Op::WMMA})) {
    auto from = src(0);
    if (!from && u.is(Op::WMMA)) return &kNoShape;
    if (!from) throw_node_error(u, "needs a source with a shape");
    return made(movement_shape(u, *from));
  }
  if (u.in(ops::ALU | OpSet{Op::CAST, Op::COPY, Op::ASSIGN, Op::NOOP, Op::GROUP, Op::SINK, Op::ALLREDUCE, Op::STORE})) {
    const ShapeFact* common = &kNoShape;
    size_t n = u.is(Op::ASSIGN) ? std::min<size_t>(2, u.num_src()) : u.num_src();
    for (size_t i = 0; i < n; i++) {
      const ShapeFact* shape = shape_of_source(i);
      if (shape == common || shape == &kNoShape) continue;
      if (common == &kNoShape) common = shape;
      else if (!is_same_shape(shape_view(common), shape_view(shape)))
        throw_node_error(u, "shape mismatch: " + str(shape_view(common)) + " and " + str(shape_view(shape)));
    }
    return common;
  }
  throw_node_error(u, "has no rule for its shape");
}

constexpr DeviceFact kNoDevice{};

const DeviceFact* compute_device(UOp u) {
  auto made = [&](Arg device) { return device.is_none() ? &kNoDevice : u.graph().arena().make<DeviceFact>(device); };
  auto src = [&](size_t i) { return u.src(i).node()->device; };
  switch (u.op()) {
    case Op::DEVICE: return made(u.arg());
    case Op::BUFFERIZE: return made(u.arg().is(RecordClass::BufferizeOpts) ? u.arg()[0] : Arg());
    case Op::AFTER: return src(0);
    case Op::MSELECT: {
      Arg devices = src(0)->device;
      if (!devices.is_tuple() || !u.arg().is_int() || u.arg().as_int() < 0 ||
          u.arg().as_int() >= Int(int64_t(devices.items().size())))
        throw_node_error(u, "selects " + u.arg().repr() + " of the devices " + devices.repr());
      return made(devices[size_t(u.arg().small_int())]);
    }
    case Op::MSTACK: {
      std::vector<Arg> devices;
      for (size_t i = 0; i < u.num_src(); i++) devices.push_back(src(i)->device);
      return made(u.graph().tuple(devices));
    }
    case Op::COPY: case Op::BUFFER: case Op::ALLREDUCE:
      if (u.num_src() < 2) throw_node_error(u, "has no device");
      return src(1);
    default:
      for (size_t i = 0; i < u.num_src(); i++)
        if (src(i) != &kNoDevice) return src(i);
      return &kNoDevice;
  }
}

// In a graph without these ops, shape_or_none returns nullopt for a node whose dtype is neither a pointer nor void.
constexpr OpSet kGiveShapes = ops::Movement | OpSet{Op::DEVICE, Op::BUFFER, Op::BUFFER_VIEW, Op::BUFFERIZE,
                                                    Op::ENCDEC, Op::KERNEL, Op::MULTI,       Op::REDUCE_AXIS};
// In a graph without these ops, no node has a device.
constexpr OpSet kGiveDevices{Op::DEVICE, Op::BUFFER, Op::BUFFERIZE, Op::MSTACK, Op::MSELECT, Op::COPY, Op::ALLREDUCE};

}  // namespace

std::optional<Shape> shape_or_none(UOp u) {
  if (!u.node()->shape && u.dtype().is_value() && u.dtype() != dtypes::void_ &&
      !u.graph().ops().intersects(kGiveShapes))
    return std::nullopt;
  if (!u.node()->shape) {
    if (u.graph().is_foreign()) return std::nullopt;
    compute_bottom_up(
        u, [](UOp x) { return x.node()->shape != nullptr; }, [](UOp) { return true; },
        [](UOp x) { x.node()->shape = compute_shape(x); });
  }
  return cached_shape(u);
}

Shape shape_of(UOp u) {
  auto shape = shape_or_none(u);
  if (!shape) throw_node_error(u, "has no shape");
  return *shape;
}

Int size_of(UOp u) {
  Int out = 1;
  for (Sint s : shape_of(u)) out = out * s.vmax();
  return out;
}

Arg device_of(UOp u) {
  if (!u.node()->device && u.graph().is_foreign()) return {};
  if (!u.node()->device && !u.graph().ops().intersects(kGiveDevices)) return {};
  if (!u.node()->device)
    compute_bottom_up(
        u, [](UOp x) { return x.node()->device != nullptr; }, [](UOp) { return true; },
        [](UOp x) { x.node()->device = compute_device(x); });
  return u.node()->device->device;
}

Arg device_or_throw(UOp u) {
  Arg device = device_of(u);
  if (device.is_none()) throw_node_error(u, "has no device");
  return device;
}

namespace {
bool have_matching_sources(const Node* a, const Node* b, auto same) {
  for (size_t i = 0; i < a->num_src; i++)
    if (UOp s = a->src()[i], t = b->src()[i]; !(s == t) && !same(s.node(), t.node())) return false;
  return true;
}
}  // namespace

void inherit_facts(UOp from, UOp to) {
  const Node *a = from.node(), *b = to.node();
  auto is_unique_number = [](const Node* s) { return s->op == Op::UNIQUE; };  // no fact depends on a UNIQUE
  auto is_same_shape = [&](const Node* s, const Node* t) {
    // do not accept a source without a shape: it may be a number that determines a size of the result
    return is_unique_number(s) || (s->shape && s->shape == t->shape && s->shape != &kNoShape);
  };
  if (a->shape && !b->shape && a->op != Op::MULTI && have_matching_sources(a, b, is_same_shape)) b->shape = a->shape;
  auto same_device = [&](const Node* s, const Node* t) {
    return is_unique_number(s) || (s->device && s->device == t->device);
  };
  if (a->device && !b->device && have_matching_sources(a, b, same_device)) b->device = a->device;
}

namespace {

// Returns the greatest number of leading axes of `to` whose sizes have the product `before`. Throws Failure if there is
// no such number.
int64_t last_axis_after(UOp reshape, Sint before, Shape to) {
  std::optional<int64_t> last;
  Sint count = 1;
  for (size_t i = 0; i <= to.size(); i++) {
    if (count == before) last = int64_t(i);
    if (i < to.size()) count = count * to[i];
  }
  if (!last) throw_node_error(reshape, "moves items between shards");
  return *last;
}

int32_t compute_axis(UOp u) {
  constexpr int32_t kNone = Node::kNoAxis;
  auto src_axis = [&](size_t i) { return u.src(i).node()->axis; };
  if (u.is(Op::MULTI)) return int32_t(u.arg().small_int());
  if (u.in(ops::ALU)) {
    std::vector<int32_t> axes;  // the axes of the sources, without duplicates; the result is the last, as in tinygrad
    for (size_t i = 0; i < u.num_src(); i++)
      if (src_axis(i) != kNone && std::find(axes.begin(), axes.end(), src_axis(i)) == axes.end())
        axes.push_back(src_axis(i));
    return axes.empty() ? kNone : axes.back();
  }
  if (u.num_src() == 0 || src_axis(0) == kNone) return kNone;
  int32_t axis = src_axis(0);
  switch (u.op()) {
    case Op::REDUCE_AXIS: {
      auto reduced = u.arg()[1].items();
      return std::find(reduced.begin(), reduced.end(), Arg(axis)) == reduced.end() ? axis : kNone;
    }
    case Op::RESHAPE: return int32_t(last_axis_after(u, prod(shape_of(u.src(0)).first(size_t(axis))), marg_shape(u)));
    case Op::PERMUTE: {
      auto order = u.arg().items();
      return int32_t(std::find(order.begin(), order.end(), Arg(axis)) - order.begin());
    }
    default: return axis;
  }
}

}  // namespace

std::optional<int64_t> axis_of(UOp u) {
  if (u.graph().is_foreign()) return std::nullopt;
  compute_bottom_up(
      u, [](UOp x) { return x.node()->axis != Node::kAxisUnknown; }, [](UOp x) { return !x.is(Op::MULTI); },
      [](UOp x) { x.node()->axis = compute_axis(x); });
  if (u.node()->axis == Node::kNoAxis) return std::nullopt;
  return u.node()->axis;
}

Sint sgep(UOp u, size_t i) {
  switch (u.op()) {
    case Op::CONST: return Sint(u.arg());
    case Op::VCONST: return Sint(u.arg()[i]);
    case Op::VECTORIZE: return u.src(i).is_const() ? Sint(u.src(i).arg()) : Sint(u.src(i));
    default: throw_node_error(u, "is not a list of sizes");
  }
}

namespace {
size_t num_sizes(UOp u, size_t which) {
  if (u.graph().is_foreign()) throw_node_error(u, "is of another release of tinygrad, its sizes are not known");
  if (u.num_src() <= which) throw_node_error(u, "has no size argument");
  UOp sizes = u.src(which);
  auto n = size_t(sizes.dtype().count());
  bool fits = sizes.is(Op::CONST) ? sizes.arg().is_integral()
              : sizes.is(Op::VCONST) ? sizes.arg().items().size() == n
                                     : sizes.is(Op::VECTORIZE) && sizes.num_src() == n;
  if (!fits) throw_node_error(u, "has a size argument that is not a list of sizes");
  return n;
}
}  // namespace

ShapeVec marg_shape(UOp u) {
  ShapeVec out;
  size_t n = num_sizes(u, 1);
  out.reserve(n);
  for (size_t i = 0; i < n; i++) out.push_back(sgep(u.src(1), i));
  return out;
}

std::vector<std::pair<Sint, Sint>> marg_pairs(UOp u) {
  std::vector<std::pair<Sint, Sint>> out;
  size_t n = num_sizes(u, 1);
  out.reserve(n);
  if (num_sizes(u, 2) != n) throw_node_error(u, "has size arguments of different lengths");
  for (size_t i = 0; i < n; i++) out.emplace_back(sgep(u.src(1), i), sgep(u.src(2), i));
  return out;
}

UOp base_of(UOp u) {
  while (u.in(ops::Movement) || u.is(Op::MULTI)) u = u.src(0);
  return u;
}

UOp buf_target(UOp u) {
  while (!u.in(ops::Defines)) {
    if (u.is(Op::VECTORIZE)) {
      for (UOp s : u.src())
        if (!(s == u.src(0))) throw Failure("an access to several buffers at once");
    } else if (!u.in({Op::AFTER, Op::INDEX, Op::STORE, Op::LOAD})) {
      throw Failure("buf_target of a node that is not an access: " + std::string(name_of(u.op())));
    }
    u = u.src(0);
  }
  return u;
}

}  // namespace tgc
