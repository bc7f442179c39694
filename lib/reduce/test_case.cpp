#include "lib/reduce/test_case.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lib/execute/executable.h"
#include "lib/run/repro_bundle.h"
#include "lib/spec/spec.h"
#include "lib/text/pyrender.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/kernel_inputs.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {

namespace {

// Returns 1 for a rare dtype and 0 for a common one.
double dtype_rarity(DType d) {
  if (!d.is_value() && !d.is_ptr()) return 0;
  DType scalar = d.base().scalar();
  for (Scalar plain : {Scalar::Void, Scalar::Index, Scalar::Bool, Scalar::Int32, Scalar::Float32})
    if (scalar.scalar_kind() == plain) return 0;
  return 1;
}

double arg_magnitude(const Arg& a) {
  if (!a.is_const()) return 0;
  Const c = a.to_const();
  if (c.is_invalid() || (c.is_float() && !std::isfinite(c.as_float()))) return 64;
  double v = std::abs(c.to_double());
  return std::log2(1 + v) + (c.is_float() && v != std::floor(v) ? 1 : 0);
}

void drop_unused_inputs(TestCase& c) {
  std::vector<std::string> names;
  for (UOp u : toposort(c.root))
    if (u.is(Op::DEFINE_GLOBAL)) names.push_back("data" + std::to_string(u.arg().small_int()));
  std::erase_if(c.inputs, [&](const ReproArray& a) { return std::ranges::find(names, a.name) == names.end(); });
}

}  // namespace

InputGraph TestCase::input_graph() const {
  InputGraph out{.graph = std::make_shared<Graph>(graph->settings()), .info = info, .file = info.name};
  out.root = copy_into(*out.graph, root);
  auto bundle = std::make_shared<Repro>();
  bundle->device = device, bundle->inputs = inputs;
  out.read_report.repro = std::move(bundle);
  return out;
}

size_t TestCase::num_nodes() const { return toposort(root).size(); }

TestCase copy_to_own_graph(const TestCase& c) {
  TestCase out = c;
  if (!c.root) return out;
  out.graph = std::make_shared<Graph>(c.graph->settings());
  out.root = copy_into(*out.graph, c.root);
  return out;
}

TestCase replace_root(const TestCase& c, UOp root) {
  TestCase out = c;
  out.root = root;
  if (root) drop_unused_inputs(out);
  return out;
}

bool is_ast(const TestCase& c) { return spec_after_stage(c.info.stage) == Spec::Kernel; }

std::vector<double> case_sizes_of(const TestCase& c) {
  double nodes = 0, loops = 0, num_rare_dtypes = 0, numbers = 0, settings = double(c.info.settings.size()), bytes = 0;
  for (UOp u : toposort(c.root)) {
    nodes++, num_rare_dtypes += dtype_rarity(u.dtype()), loops += u.in({Op::RANGE, Op::SPECIAL});
    if (u.is(Op::CONST)) numbers += arg_magnitude(u.arg());
    if (u.dtype().is_ptr() && !u.dtype().is_image()) numbers += std::log2(2 + double(u.dtype().size()));
  }
  for (const SettingInfo& s : all_settings())
    settings += c.graph->settings().*s.member != s.default_value && s.name != "CPU_COUNT";
  if (c.root.arg().kind() == Arg::Kind::Record) {
    auto info = c.root.arg().items();  // name, axis types, ..., applied opts, opts to apply
    if (is_ast(c)) settings += info[4].is_tuple() ? double(info[4].items().size()) : 100;  // 100: the optimizer chooses
    else settings += double(info[0].text().size() + info[1].items().size() + info[3].items().size());
  }
  if (c.fault) settings += double(c.fault->application_number - 1);
  for (const ReproArray& a : c.inputs) bytes += double(a.bytes.size());
  return {nodes, loops, settings, num_rare_dtypes, numbers, bytes};
}

UOp replace_nodes(UOp root, const Replacements& pairs, bool ends_loops) {
  std::map<uint32_t, UOp> is;
  for (auto& [from, to] : pairs) is[from.id()] = to;
  UOpMap<UOp> now(root.graph());
  for (UOp u : toposort(root)) {
    if (auto it = is.find(u.id()); it != is.end()) {
      const UOp other = now.contains(it->second) ? now[it->second] : it->second;
      now[u] = other;
      continue;
    }
    std::vector<UOp> src;
    bool ends = ends_loops && u.in({Op::END, Op::REDUCE, Op::STORE});
    for (size_t i = 0; i < u.num_src(); i++) {
      UOp s = now[u.src(i)];
      bool is_loop = i >= (u.is(Op::STORE) ? 2u : 1u) && u.src(i).in({Op::RANGE, Op::UNROLL});
      if (!ends || !is_loop || !s.is(Op::CONST)) src.push_back(s);
    }
    bool is_empty = ends && src.size() == 1 && u.num_src() > 1 && !u.is(Op::STORE);  // all ranges became constants
    now[u] = is_empty ? src[0] : u.with_src(src);
    bool is_place = u.is(Op::INDEX) && u.dtype().is_ptr() && u.dtype() == u.src(0).dtype();
    if (is_place) now[u] = now[u].with_dtype(src[0].dtype());
  }
  return now[root];
}

OpSet ops_of_graph(UOp root) {
  OpSet out;
  for (UOp u : toposort(root)) out.add(u.op());
  return out;
}

std::vector<std::pair<UOp, size_t>> nodes_by_dominated_count(UOp root) {
  std::vector<UOp> order = toposort(root);
  UOpMap<size_t> place(root.graph());
  for (size_t i = 0; i < order.size(); i++) place[order[i]] = i;
  // The immediate dominator of a node is the nearest common dominator of its users. Users come after their sources in
  // `order`, so that one walk from the root finds the dominators of all nodes.
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

Session session_without_overrides(const Session& session) {
  Session out = session;
  out.events = nullptr;
  out.overrides.target.clear(), out.overrides.opts.clear(), out.overrides.start_stage.clear();
  return out;
}

TestCase make_initial_case(const Session& session, InputGraph& in, const RunOptions& options, bool runs_nowhere) {
  if (!in.list.empty()) throw Failure(Diag{.message = "this is a linear list", .file = in.file, .expected = "a graph"});
  if (!options.compare.reference_device.empty() || !options.compare.expected_file.empty())
    session.report_note("what is expected is what REF makes of the graph: of a smaller one nobody else knows");
  Placement place = std::move(placement_for(session, options.device.name, in).value_or_throw());
  TestCase out{.graph = std::make_shared<Graph>(in.graph->settings()),
               .info = in.info,
               .device = runs_nowhere ? "REF" : place.device_option()};
  if (place.target) out.info.target = place.target->name();
  if (session.compiler()->can_compile(in)) out.info.settings.clear();  // the settings are in the Graph
  out.root = copy_into(*out.graph, in.root);
  if (!session.overrides.opts.empty())
    out.root = sink_with_opts(out.root, read_opts(*out.graph, session.overrides.opts, "--opts").value_or_throw());
  out.fault = std::move(fault_of_environment().value_or_throw());
  auto kernel = Executable::make_for_ref(in.root);
  if (!kernel) return out;
  std::string source;
  InputDistribution draw = make_input_distribution(in.root, options.input.seed.value_or(0));
  out.inputs = arrays_to_bundle(
      make_input_arrays(kernel->buffers(), read_given_inputs(options, in, source).value_or_throw(), source, draw)
          .value_or_throw());
  return out;
}

}  // namespace tgc
