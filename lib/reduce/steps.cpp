#include "lib/reduce/steps.h"

#include <algorithm>
#include <cmath>

#include "lib/reduce/cuts.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_number_constant(UOp u) { return u.is(Op::CONST) && !u.is_invalid(); }

UOp constant_of_dtype(UOp u, int value) {
  DType d = u.dtype();
  Const c = dtypes::is_float(d) ? Const(double(value)) : dtypes::is_bool(d) ? Const(value != 0) : Const(value);
  return u.graph().constant(d, c);
}

// ---- steps at one node

// Returns the first and the last constant with the dtype of `u` that comes before `u` in toposort order.
std::vector<UOp> constants_before(const TestCase& c, UOp u) {
  std::vector<UOp> out;
  for (UOp other : toposort(c.root)) {
    if (other == u) break;
    if (other.in({Op::CONST, Op::VCONST}) && !other.is_invalid() && other.dtype() == u.dtype()) out.push_back(other);
  }
  if (out.size() > 2) out = {out.front(), out.back()};
  return out;
}

// Returns up to four nodes: on each path down from `u`, the first suitable node with the dtype of `u`.
std::vector<UOp> nearest_with_same_dtype(UOp u) {
  constexpr OpSet kSources = {Op::CONST, Op::VCONST, Op::RANGE, Op::SPECIAL, Op::STORE, Op::END};
  std::vector<UOp> out, stack(u.src().rbegin(), u.src().rend());
  UOpSet seen(u.graph());
  while (!stack.empty() && out.size() < 4) {
    UOp s = stack.back();
    stack.pop_back();
    if (!seen.insert(s)) continue;
    bool fits = s.dtype() == u.dtype() && (is_storable(s) || s.in(kSources) || (u.is(Op::AFTER) && s == u.src(0)));
    if (fits) out.push_back(s);
    else stack.insert(stack.end(), s.src().rbegin(), s.src().rend());
  }
  return out;
}

void add_smaller_constants(Candidates& out, const TestCase& c, UOp u) {
  size_t there = 0;
  UOpSet above(u.graph());  // `u` and all nodes that depend on `u`
  for (UOp other : toposort(c.root)) {
    if (other == u || std::ranges::any_of(other.src(), [&](UOp s) { return above.contains(s); })) above.insert(other);
    bool fits =
        other.dtype() == u.dtype() && !above.contains(other) && (is_number_constant(other) || is_storable(other));
    if (fits && there < 4)
      there++, out.push_back([&c, u, other] { return replace_root(c, replace_nodes(c.root, {{u, other}})); });
  }
  auto offer = [&](Const value) {
    UOp other = u.graph().constant(u.dtype(), value);
    if (!(other == u)) out.push_back([&c, u, other] { return replace_root(c, replace_nodes(c.root, {{u, other}})); });
  };
  const Const now = u.arg().to_const();
  if (dtypes::is_float(u.dtype())) {
    if (!py_equal(now, 0) && !py_equal(now, 1)) offer(1.0);
  } else if (!dtypes::is_bool(u.dtype()) && (py_less(2, now) || py_less(now, -2))) {
    offer(2);
    const bool is_finite = !now.is_float() || std::isfinite(now.as_float());  // a wrong rule may fold to inf or NaN
    if (is_finite && py_less(8, now)) offer(floor_div(now.to_int(), 2));
  }
}

void add_smaller_loops(Candidates& out, const TestCase& c, UOp range) {
  Graph& g = range.graph();
  out.push_back([&c, range, &g] {
    return replace_root(c, replace_nodes(c.root, {{range, g.constant(range.dtype(), int64_t(0))}}));
  });
  UOp last = range.const_like(range.vmax());  // try the last iteration, where many accesses out of bounds occur
  out.push_back([&c, range, last] { return replace_root(c, replace_nodes(c.root, {{range, last}})); });
  if (!is_number_constant(range.src(0))) return;
  int64_t size = range.src(0).arg().to_const().to_int().low_64_bits();
  for (int64_t other : {int64_t(2), size / 2})
    if (other < size && other >= 2) {
      UOp smaller = range.with_src(std::vector<UOp>{g.constant(range.src(0).dtype(), other)});
      out.push_back([&c, range, smaller] { return replace_root(c, replace_nodes(c.root, {{range, smaller}})); });
    }
}

// ---- steps on a whole case

TestCase with_default_settings(const TestCase& c) {
  Settings plain;
  plain.CPU_COUNT = c.graph->settings().CPU_COUNT;
  bool any = !c.info.settings.empty();
  for (const SettingInfo& s : all_settings()) any |= c.graph->settings().*s.member != plain.*s.member;
  if (!any) return {};
  TestCase out = copy_with_settings(c, plain);
  out.info.settings.clear();
  return out;
}

TestCase without_opts(const TestCase& c) {
  return c.root.arg().kind() == Arg::Kind::Record ? replace_root(c, c.root.with_arg(info_without_opts(c))) : TestCase();
}

// Replaces integers above 2 by 2, which also shortens loops to two iterations, and floats other than 0 and 1 by 1.0.
TestCase with_small_numbers(const TestCase& c) {
  Replacements pairs;
  for (UOp u : toposort(c.root)) {
    if (!is_number_constant(u)) continue;
    double v = u.arg().to_const().to_double();
    bool is_float = dtypes::is_float(u.dtype());
    bool is_large = is_float ? v != 0 && v != 1 : !dtypes::is_bool(u.dtype()) && v > 2;
    if (is_large) pairs.emplace_back(u, u.graph().constant(u.dtype(), is_float ? Const(1.0) : Const(2)));
  }
  return pairs.empty() ? TestCase() : replace_root(c, replace_nodes(c.root, pairs));
}

// Replaces float dtypes by float32 and integer dtypes by int32. Arrays whose dtype changes become random.
TestCase with_plain_dtypes(const TestCase& c) {
  auto plainer = [](DType d) {
    DType scalar = d.base().scalar();
    if (scalar.is(Scalar::Void) || scalar.is(Scalar::Index) || scalar.is(Scalar::Bool) || d.is_image()) return d;
    DType to = dtypes::is_float(scalar) ? dtypes::float32 : dtypes::int32;
    if (d.base().count() > 1) to = to.vec(d.base().count());
    return d.is_ptr() ? to.ptr(d.size(), d.addrspace()) : to;
  };
  UOpMap<UOp> now(*c.graph);
  for (UOp u : toposort(c.root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(now[s]);
    UOp same = u.with_src(src);
    now[u] = is_number_constant(u) ? c.graph->constant(plainer(u.dtype()), u.arg().to_const())
                                   : same.with_dtype(plainer(u.dtype()));
  }
  if (now[c.root] == c.root) return {};
  TestCase out = replace_root(c, now[c.root]);
  std::erase_if(out.inputs, [&](const ReproArray& a) { return !(plainer(a.dtype) == a.dtype); });
  return out;
}

// Shrinks each buffer to the size that its largest index needs.
TestCase with_small_buffers(const TestCase& c) {
  std::map<uint32_t, int64_t> reached;  // by node id of a buffer: number of elements that it needs
  for (UOp u : toposort(c.root)) {
    if (!u.is(Op::INDEX) || u.num_src() < 2 || !u.src(0).is(Op::DEFINE_GLOBAL)) continue;
    Const most = u.src(1).get_idx().vmax();
    int64_t end = most.is_int() && most.as_int().is_small() ? most.as_int().small_value() + 1 : INT64_MAX;
    int64_t& known = reached[u.src(0).id()];
    known = std::max(known, end);
  }
  Replacements pairs;
  std::vector<ReproArray> inputs = c.inputs;
  for (UOp u : toposort(c.root)) {
    auto it = reached.find(u.id());
    if (it == reached.end() || u.dtype().is_image() || it->second >= u.dtype().size()) continue;
    pairs.emplace_back(u, u.with_dtype(u.dtype().base().ptr(it->second, u.dtype().addrspace())));
    for (ReproArray& a : inputs)
      if (a.name == "data" + std::to_string(u.arg().small_int())) {
        a.shape = {it->second};
        a.bytes.resize(size_t(it->second) * size_t(a.dtype.itemsize()));
      }
  }
  if (pairs.empty()) return {};
  TestCase out = replace_root(c, replace_nodes(c.root, pairs));
  out.inputs = std::move(inputs);
  return out;
}

void add_fewer_settings(Candidates& out, const TestCase& c) {
  Settings now = c.graph->settings();
  for (const SettingInfo& s : all_settings()) {
    if (now.*s.member == s.default_value || s.name == "CPU_COUNT") continue;
    Settings other = now;
    other.*s.member = s.default_value;
    out.push_back([&c, other] { return copy_with_settings(c, other); });
  }
  for (auto& [name, value] : c.info.settings)
    out.push_back([&c, name] {
      TestCase other = replace_root(c, c.root);
      other.info.settings.erase(name);
      return other;
    });
  if (c.fault && c.fault->application_number > 1)
    for (uint64_t n : {uint64_t(1), c.fault->application_number - 1})
      out.push_back([&c, n] {
        TestCase other = replace_root(c, c.root);
        other.fault->application_number = n;
        return other;
      });
}

void add_fewer_opts(Candidates& out, const TestCase& c) {
  if (c.root.arg().kind() != Arg::Kind::Record) return;
  auto info = c.root.arg().items();
  if (!is_ast(c)) {  // after a stage, the opts may have been applied: drop all of them together
    out.push_back([&c] { return without_opts(c); });
    return;
  }
  auto offer = [&](std::vector<Arg> opts) {
    std::vector<Arg> fields(info.begin(), info.end());
    fields.back() = c.graph->tuple(opts);
    UOp root = c.root.with_arg(c.graph->record(RecordClass::KernelInfo, fields));
    out.push_back([&c, root] { return replace_root(c, root); });
  };
  std::vector<Arg> opts;
  if (info.back().is_tuple()) opts.assign(info.back().items().begin(), info.back().items().end());
  if (!opts.empty() || !info.back().is_tuple()) offer({});
  for (size_t i = 0; i < opts.size() && opts.size() > 1; i++) {
    std::vector<Arg> fewer = opts;
    fewer.erase(fewer.begin() + ptrdiff_t(i));
    offer(fewer);
  }
}

// Adds steps that store a source of the stored value instead of the value, for sources with another dtype.
void add_source_stores(Candidates& out, const TestCase& c) {
  UOp value = stored_value(c.root);
  if (!value) return;
  std::vector<UOp> below(value.src().begin(), value.src().end());
  if (value.is(Op::GEP))  // the value is an element of a vector: store a source of the vector
    for (UOp s : value.src(0).src()) below.push_back(s);
  for (UOp s : below)
    if (is_storable(s) && s.num_src() > 0 && !(s.dtype() == value.dtype()))
      out.push_back([&c, s] { return single_store_case(c, s); });
}

}  // namespace

Arg info_without_opts(const TestCase& c) {
  Graph& g = *c.graph;
  Arg none = g.tuple({});
  if (!is_ast(c)) return g.record(RecordClass::KernelInfo, {g.str("reduced"), none, false, none, none});
  if (c.root.arg().kind() != Arg::Kind::Record) return c.root.arg();
  std::vector<Arg> info(c.root.arg().items().begin(), c.root.arg().items().end());
  info.back() = none;
  return g.record(RecordClass::KernelInfo, info);
}

std::span<const Simplification> all_simplifications() {
  static constexpr Simplification kSteps[] = {with_default_settings, without_opts, with_small_buffers,
                                              with_plain_dtypes, with_small_numbers};
  return kSteps;
}

TestCase copy_with_settings(const TestCase& c, const Settings& settings) {
  TestCase out = c;
  out.graph = std::make_shared<Graph>(settings);
  out.root = copy_into(*out.graph, c.root);
  return out;
}

TestCase replace_by_constants(const TestCase& c, std::span<const UOp> values) {
  Replacements pairs;
  for (UOp u : values) {
    bool is_place = u.dtype().is(Scalar::Index) || dtypes::is_bool(u.dtype());
    pairs.emplace_back(u, constant_of_dtype(u, is_place ? 0 : 2));
  }
  return replace_root(c, replace_nodes(c.root, pairs));
}

Candidates single_store_cases(const TestCase& c) {
  Candidates out;
  std::vector<UOp> stores;
  for (UOp u : toposort(c.root))
    if (u.in({Op::SINK, Op::GROUP}) && u.num_src() > 1)
      for (UOp s : u.src()) stores.push_back(s);
  for (UOp s : stores)
    if (s.in({Op::END, Op::STORE}))
      out.push_back([&c, s] { return replace_root(c, c.root.with_src(std::vector<UOp>{s})); });
  return out;
}

UOp replacement_of_node(UOp u) {
  for (UOp s : u.src())
    if (s.dtype() == u.dtype()) return s;
  return (is_storable(u) || is_number_constant(u)) && u.dtype().count() == 1 ? constant_of_dtype(u, 1) : UOp();
}

UOp runnable_replacement_of(UOp u) {
  if (u.in({Op::RANGE, Op::SPECIAL})) return constant_of_dtype(u, py_less(u.vmax(), Const(1)) ? 0 : 1);
  return replacement_of_node(u);
}

Candidates simpler_node_cases(const TestCase& c, UOp u) {
  Candidates out;
  auto become = [&](UOp other) {
    out.push_back([&c, u, other] { return replace_root(c, replace_nodes(c.root, {{u, other}})); });
  };
  if (is_number_constant(u)) return add_smaller_constants(out, c, u), out;
  if (u.num_src() > 0 && (is_storable(u) || u.in({Op::RANGE, Op::SPECIAL})))
    for (UOp there : constants_before(c, u)) become(there);
  if (u.in({Op::RANGE, Op::SPECIAL})) return add_smaller_loops(out, c, u), out;
  if (u.in({Op::SINK, Op::GROUP}) && u.num_src() > 1) {
    for (size_t i = 0; i < u.num_src(); i++) {
      std::vector<UOp> src(u.src().begin(), u.src().end());
      src.erase(src.begin() + ptrdiff_t(i));
      become(u.with_src(src));
    }
    return out;
  }
  if (u.is(Op::INDEX) && u.dtype().is_ptr() && u.dtype().base() == u.src(0).dtype().base()) become(u.src(0));
  else if (!u.in({Op::SINK, Op::INDEX}))
    for (UOp s : nearest_with_same_dtype(u)) become(s);
  if (!is_storable(u)) return out;
  if (u.num_src() > 0) {  // another load of the same dtype
    for (UOp other : toposort(c.root))
      if (other.in({Op::LOAD, Op::INDEX}) && other.dtype() == u.dtype() && !(other == u) && other.id() < u.id()) {
        become(other);
        break;
      }
    bool is_bool = dtypes::is_bool(u.dtype());
    if (!is_bool) become(constant_of_dtype(u, 2));  // 2 first, because rules fold 1 and 0
    become(constant_of_dtype(u, 1));
    if (is_bool || u.dtype().is(Scalar::Index)) become(constant_of_dtype(u, 0));
  }
  if (u.is(Op::REDUCE) && u.num_src() > 1) become(u.with_src(std::vector<UOp>{u.src(0)}));  // drop the loops
  return out;
}

Candidates all_candidates(const TestCase& c) {
  Candidates out = single_store_cases(c);
  add_source_stores(out, c);
  add_fewer_settings(out, c);
  add_fewer_opts(out, c);
  for (auto& [u, size] : nodes_by_dominated_count(c.root))
    for (auto& step : simpler_node_cases(c, u)) out.push_back(std::move(step));
  out.push_back([&c] { return with_plain_dtypes(c); });
  out.push_back([&c] { return with_small_buffers(c); });
  return out;
}

}  // namespace tgc
