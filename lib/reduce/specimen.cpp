#include "lib/reduce/specimen.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/uop/copy.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

constexpr int64_t kMostStored = 1 << 16;  // elements that a cut part may have

// The loops that a node lies in: ranges, and what became of them on a GPU.
std::vector<UOp> loops_of(UOp u) {
  auto ranges = ranges_of(u);
  std::vector<UOp> out(ranges.begin(), ranges.end());
  for (UOp s : toposort(u))
    if (s.is(Op::SPECIAL)) out.push_back(s);
  return out;
}

// Where the values of these iterations lie, the last loop fastest; `size` receives how many there are. The empty UOp:
// too many, or nobody knows how many.
UOp position(Graph& g, const std::vector<UOp>& loops, DType index, int64_t& size) {
  UOp out;
  size = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    Const most = loops[i].vmax();
    if (!most.is_int() || most.as_int() >= Int(kMostStored) || most.as_int() < Int(0)) return {};
    UOp loop = loops[i].dtype() == index ? loops[i] : loops[i].cast(index);
    UOp term = size == 1 ? loop : loop * Const(size);
    out = out ? term + out : term;
    size *= most.as_int().small() + 1;
    if (size > kMostStored) return {};
  }
  return out ? out : g.constant(index, int64_t(0));
}

// What an array holds of a node, and its dtype there.
DType stored_dtype(UOp u) {
  DType scalar = u.dtype().scalar();
  return scalar.is(Scalar::Index) ? dtypes::int32 : scalar;
}

// What a loop is where nothing is added up in it.
AxisType outer(AxisType type) {
  bool reduces = type == AxisType::REDUCE || type == AxisType::GROUP_REDUCE;
  return reduces ? AxisType::LOOP : type == AxisType::UNROLL ? AxisType::UPCAST : type;
}

// 0 for what one writes without thinking.
double oddness(DType d) {
  if (!d.is_value() && !d.is_ptr()) return 0;
  DType scalar = d.base().scalar();
  for (Scalar plain : {Scalar::Void, Scalar::Index, Scalar::Bool, Scalar::Int32, Scalar::Float32})
    if (scalar.scalar_kind() == plain) return 0;
  return 1;
}

double magnitude(const Arg& a) {
  if (!a.is_const()) return 0;
  Const c = a.to_const();
  if (c.is_invalid() || (c.is_float() && !std::isfinite(c.as_float()))) return 64;
  double v = std::abs(c.to_double());
  return std::log2(1 + v) + (c.is_float() && v != std::floor(v) ? 1 : 0);
}

}  // namespace

Loaded Specimen::loaded() const {
  Loaded out{.graph = std::make_shared<Graph>(graph->settings()), .info = info, .file = info.name};
  out.root = copy_into(*out.graph, root);
  auto bundle = std::make_shared<Repro>();
  bundle->device = device, bundle->inputs = inputs;
  out.report.repro = std::move(bundle);
  return out;
}

size_t Specimen::nodes() const { return toposort(root).size(); }

bool is_ast(const Specimen& c) { return c.info.stage.empty() || c.info.stage == "ast"; }

std::vector<double> size_of(const Specimen& c) {
  double nodes = 0, odd = 0, numbers = 0, settings = 0, bytes = 0;
  for (UOp u : toposort(c.root)) {
    nodes++, odd += oddness(u.dtype());
    if (u.is(Op::CONST)) numbers += magnitude(u.arg());
    if (u.dtype().is_ptr() && !u.dtype().is_image()) numbers += std::log2(2 + double(u.dtype().size()));
  }
  for (const SettingInfo& s : all_settings())
    settings += c.graph->settings().*s.value != s.default_value && s.name != "CPU_COUNT";
  if (c.root.arg().kind() == Arg::Kind::Record) {
    auto info = c.root.arg().items();  // name, axis types, ..., applied opts, opts to apply
    if (is_ast(c)) settings += info[4].is_tuple() ? double(info[4].items().size()) : 100;  // it decides for itself
    else settings += double(info[0].text().size() + info[1].items().size() + info[3].items().size());
  }
  if (c.fault) settings += double(c.fault->application - 1);
  for (const ReproArray& a : c.inputs) bytes += double(a.bytes.size());
  return {nodes, settings, odd, numbers, bytes};
}

UOp replaced(UOp root, const Replacements& pairs) {
  std::map<uint32_t, UOp> is;
  for (auto& [from, to] : pairs) is[from.id()] = to;
  UOpMap<UOp> now(root.graph());
  for (UOp u : toposort(root)) {
    if (auto it = is.find(u.id()); it != is.end()) {
      now[u] = it->second;
      continue;
    }
    std::vector<UOp> src;
    bool ends = u.in({Op::END, Op::REDUCE, Op::STORE});
    for (size_t i = 0; i < u.num_src(); i++) {
      UOp s = now[u.src(i)];
      bool is_loop = i >= (u.is(Op::STORE) ? 2u : 1u) && u.src(i).in({Op::RANGE, Op::UNROLL});
      if (!ends || !is_loop || !s.is(Op::CONST)) src.push_back(s);
    }
    bool is_empty = ends && src.size() == 1 && u.num_src() > 1 && !u.is(Op::STORE);  // it ended nothing but those
    now[u] = is_empty ? src[0] : u.with_src(src);
  }
  return now[root];
}

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

UOp stored_alone(UOp u, int64_t buffer, DType index) {
  Graph& g = u.graph();
  std::vector<UOp> loops = loops_of(u), ends;
  int64_t size = 1;
  UOp at = position(g, loops, index, size);
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
    if (outer(type) == type) continue;
    arg.back() = outer(type);
    types.emplace_back(loop, loop.with_arg(g.tuple(arg)));
  }
  return types.empty() ? sink : replaced(sink, types);
}

UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads) {
  Graph& g = u.graph();
  int64_t size = 1;
  UOp at = position(g, loops_of(u), index, size);
  if (!at) return {};
  UOp memory = g.node(Op::DEFINE_GLOBAL, stored_dtype(u).ptr(size), {}, Arg(buffer));
  UOp value = has_loads ? memory.index_ptr(at).load() : memory.index(at);
  if (u.dtype().is(Scalar::Index)) value = value.cast(u.dtype().scalar());
  return u.dtype().count() > 1 ? value.broadcast(u.dtype().count()) : value;
}

int64_t first_free_buffer(UOp root) {
  int64_t out = 0;
  for (UOp u : toposort(root))
    if (u.is(Op::DEFINE_GLOBAL)) out = std::max(out, u.arg().small_int() + 1);
  return out;
}

std::vector<std::pair<UOp, size_t>> by_dominated(UOp root) {
  std::vector<UOp> order = toposort(root);
  UOpMap<size_t> place(root.graph());
  for (size_t i = 0; i < order.size(); i++) place[order[i]] = i;
  // Users come later than what they use, so that one walk from the root finds each node's immediate dominator: what the
  // dominators of all its users have in common.
  std::vector<size_t> dominator(order.size(), SIZE_MAX), size(order.size(), 1);
  size_t last = order.size() - 1;
  dominator[last] = last;
  auto common = [&](size_t a, size_t b) {
    while (a != b) {
      if (a < b) a = dominator[a];
      else b = dominator[b];
    }
    return a;
  };
  for (size_t i = order.size(); i-- > 0;)
    for (UOp s : order[i].src()) {
      size_t& d = dominator[place[s]];
      d = d == SIZE_MAX ? i : common(d, i);
    }
  for (size_t i = 0; i < last; i++) size[dominator[i]] += size[i];
  std::vector<std::pair<UOp, size_t>> out;
  for (size_t i = order.size(); i-- > 0;) out.emplace_back(order[i], size[i]);
  std::ranges::stable_sort(out, std::greater(), &std::pair<UOp, size_t>::second);
  return out;
}

}  // namespace tgc
