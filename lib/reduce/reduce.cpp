#include "lib/reduce/reduce.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "lib/execute/drawing.h"
#include "lib/reduce/steps.h"
#include "lib/session/bundle.h"
#include "lib/support/json_writer.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"

namespace tgc {
namespace {

constexpr size_t kWorthACut = 6;  // nodes that are there for one node alone: a buffer in their place is smaller

// The session without what the case itself says: opts are in its graph, settings with it, the target in its info.
Session without_overrides(const Session& session) {
  return {.jobs = session.jobs, .compile = session.compile, .cancel = session.cancel};
}

// One reduction. Throws Failure.
class Reduction {
 public:
  Reduction(const Session& session, Loaded& in, const TrialSpec& spec, const Wanted& wanted, ReduceReport& report)
      : session_(session),
        own_(without_overrides(session)),
        in_(in),
        spec_(with_bundle(spec, in)),
        script_(wanted.script),
        oracle_(own_, spec_without_place(spec_), wanted),
        report_(report) {}

  void run() {
    begin();
    report_.before = best_.nodes();
    show();
    if (!stopped()) begin_at_stage();
    for (auto before = size_of(best_); !stopped(); before = size_of(best_)) {
      accept_first(single_stores(best_));
      while (descend()) {}
      cut_parts();
      if (size_of(best_) == before && !sweep()) break;
    }
    report_.interrupted = session_.cancelled();
    end();
  }

 private:
  static TrialSpec spec_without_place(TrialSpec spec) {
    spec.device.clear(), spec.arrays.clear(), spec.expect.clear(), spec.reference.clear(), spec.repro.clear();
    return spec;
  }
  bool stopped() const { return session_.cancelled(); }
  void show() const {
    session_.progress(std::to_string(best_.nodes()) + " nodes, " + std::to_string(oracle_.calls()) + " tries");
  }

  // ---- where it begins: the case as it was given, with every array
  void begin() {
    if (!in_.list.empty())
      throw Failure(Diag{.message = "this is a linear list", .file = in_.file, .expected = "a graph"});
    if (!spec_.reference.empty() || !spec_.expect.empty())
      session_.note("what is expected is what REF makes of the graph: of a smaller one nobody else knows");
    Placement place = std::move(placement_for(session_, spec_.device, in_).value_or_throw());
    best_ = {.graph = std::make_shared<Graph>(in_.graph->settings()),
             .info = in_.info,
             .device = place.is_ref ? "REF" : place.label.substr(0, place.label.find(','))};
    if (place.target) best_.info.target = place.target->name();
    best_.info.settings.clear();
    best_.root = copy_into(*best_.graph, in_.root);
    if (!session_.over.opts.empty())
      best_.root = with_opts(best_.root, read_opts(*best_.graph, session_.over.opts, "--opts").value_or_throw());
    best_.fault = std::move(fault_of_environment().value_or_throw());
    std::string source;
    auto kernel = Executable::for_ref(in_.root);
    if (kernel) {
      Drawing draw{.seed = spec_.seed.value_or(0), .floats = floats_for(in_.root)};
      best_.inputs =
          bundled(input_arrays(kernel->buffers(), given_inputs(spec_, in_, source), source, draw).value_or_throw());
    }
    (void)oracle_.first(best_).value_or_throw();
    auto it = oracle_.shown().blamed.find("verdict");
    if (it == oracle_.shown().blamed.end() || it->second != "rewrite" || best_.device == "REF") return;
    Specimen in_ref = best_;  // a rewrite is wrong wherever it runs, and REF needs no compiler
    in_ref.device = "REF";
    if (oracle_.fails(in_ref)) best_ = std::move(in_ref);
  }

  // The stage that is to blame.
  std::string stage() const {
    const Shown& shown = oracle_.shown();
    if (auto it = shown.blamed.find("stage"); it != shown.blamed.end()) return it->second;
    const std::string& said = shown.symptom.said;  // "stage 'expander': ..."
    if (shown.symptom.kind == Symptom::Kind::Differs) return "";  // tinygrad begins with the AST
    size_t at = said.find("stage '"), end = at == said.npos ? at : said.find('\'', at + 7);
    return end == said.npos ? "" : said.substr(at + 7, end - at - 7);
  }

  // Goes on from the graph that the stage took in, and from the plainest settings.
  void begin_at_stage() {
    const StageRow* row = find_row(stage());
    if (!row || !row->kernel) return;
    set_fault_of_thread(best_.fault);
    Loaded copy = best_.loaded();
    auto compilation = own_.begin(std::move(copy));
    while (compilation && compilation->next() && compilation->next() != row)
      if (!compilation->step()) break;
    set_fault_of_thread(std::nullopt);
    if (!compilation || compilation->next() != row || !compilation->at()) return;
    Specimen later = best_;
    later.graph = std::make_shared<Graph>(best_.graph->settings());
    later.root = copy_into(*later.graph, compilation->current());
    later.info.stage = compilation->at()->name;
    if (later.fault) {  // the first application in that stage
      Specimen first = later;
      first.fault->application = 1;
      if (oracle_.fails(first)) return take(std::move(first));
    }
    if (oracle_.fails(later)) take(std::move(later));
  }

  // ---- taking what is smaller
  void take(Specimen c) {
    best_ = std::move(c);
    show();
  }
  bool is_smaller(const Specimen& c) const { return c.root && size_of(c) < size_of(best_); }

  // The first of the candidates that is smaller and fails; as many are tried at once as there are threads.
  bool accept_first(const Candidates& candidates) {
    std::vector<Specimen> smaller;
    for (auto& make : candidates) {
      auto c = catch_failures([&] { return make(); });
      if (c && is_smaller(*c)) smaller.push_back(std::move(*c));
    }
    const size_t width = std::max(1u, session_.jobs);
    for (size_t begin = 0; begin < smaller.size() && !stopped(); begin += width) {
      size_t n = std::min(width, smaller.size() - begin);
      std::vector<char> fails(n);
      std::vector<std::thread> threads;
      for (size_t i = 1; i < n; i++) threads.emplace_back([&, i] { fails[i] = oracle_.fails(smaller[begin + i]); });
      fails[0] = oracle_.fails(smaller[begin]);
      for (std::thread& t : threads) t.join();
      for (size_t i = 0; i < n; i++)
        if (fails[i]) return take(std::move(smaller[begin + i])), true;
    }
    return false;
  }

  // ---- down: the value that is stored becomes one that it is made of
  UOp stored_value() const {
    UOp found;
    for (UOp u : toposort(best_.root))
      if (u.is(Op::STORE) && u.num_src() > 1) found = found ? best_.root : u.src(1);
    return found == best_.root ? UOp() : found;  // several: none
  }

  Specimen alone(UOp u) {
    UOp root = stored_alone(u, first_free_buffer(best_.root), index_dtype_of(best_.root));
    if (!root) return {};
    if (best_.root.arg().kind() == Arg::Kind::Record) root = root.with_arg(best_.root.arg());
    return with_root(best_, root.rtag(best_.root.tag()));
  }

  // By the way down that has most below it: the last node on it that fails when it alone is stored, then, at that node,
  // the other ways. Whether anything was taken.
  bool descend() {
    UOp value = stored_value();
    if (!value || stopped()) return false;
    std::map<uint32_t, double> weight;
    for (UOp u : toposort(value)) {
      double& w = weight[u.id()] = 1;
      for (UOp s : u.src()) w = std::min(1e9, w + weight[s.id()]);
    }
    std::vector<UOp> way;
    for (UOp u = value; u;) {
      if (u == value || is_storable(u)) way.push_back(u);
      UOp heaviest;
      for (UOp s : u.src())
        if (!heaviest || weight[s.id()] > weight[heaviest.id()]) heaviest = s;
      u = heaviest;
    }
    size_t fails = 0, passes = way.size();
    std::optional<Specimen> deepest;
    while (passes - fails > 1 && !stopped()) {
      size_t middle = (fails + passes) / 2;
      auto c = catch_failures([&] { return alone(way[middle]); });
      if (c && c->root && oracle_.fails(*c)) fails = middle, deepest = std::move(*c);
      else passes = middle;
    }
    UOp at = way[fails];
    if (deepest && is_smaller(*deepest)) return take(std::move(*deepest)), true;
    Candidates others;
    for (UOp s : at.src())
      if (is_storable(s) && s.num_src() > 0 && (fails + 1 >= way.size() || !(s == way[fails + 1])))
        others.push_back([this, s] { return alone(s); });
    return accept_first(others);
  }

  // ---- up: parts that feed it become buffers of what they were, or less
  Specimen with_buffer(UOp u) {
    int64_t number = first_free_buffer(best_.root);
    DType index = index_dtype_of(best_.root);
    bool has_loads = op_in_backward_slice_with_self(best_.root, {Op::LOAD});
    UOp root = stored_alone(u, number, index), back = loaded_back(u, number, index, has_loads);
    if (!root || !back) return {};
    Executable kernel = std::move(Executable::for_ref(root).value_or_throw());
    Placement ref = std::move(choose_placement("REF", "", best_.graph->settings()).value_or_throw());
    Arrays inputs = std::move(input_arrays(kernel.buffers(), unbundled(best_.inputs), "", Drawing{}).value_or_throw());
    auto done = std::move(execute(kernel, *ref.device, inputs, spec_.variables, {.in_process = true}).value_or_throw());
    Specimen out = with_root(best_, replaced(best_.root, {{u, back}}));
    for (ReproArray& a : bundled(done.outputs)) out.inputs.push_back(std::move(a));
    return out;
  }

  void cut_parts() {
    std::set<uint32_t> seen;
    for (bool again = true; again && !stopped();) {
      again = false;
      UOp value = stored_value();
      for (auto& [u, size] : by_dominated(best_.root)) {
        if (size < 2 || !is_storable(u) || (value && u == value) || !seen.insert(u.id()).second) continue;
        Candidates forms;
        if (size >= kWorthACut) forms.push_back([this, u = u] { return with_buffer(u); });
        else forms = simpler_nodes(best_, u);
        if (accept_first(forms)) {
          again = true;
          break;
        }
      }
    }
  }

  // ---- the end: no single step is possible
  bool sweep() { return accept_first(all_steps(best_)); }

  void end() {
    report_.after = best_.nodes();
    report_.calls = oracle_.calls();
    report_.verdict = oracle_.shown().text();
    Loaded in = best_.loaded();
    TrialSpec spec = with_bundle(spec_without_place(spec_), in);
    Placement place = std::move(placement_for(own_, spec.device, in).value_or_throw());
    auto shown = oracle_.shown_by(best_);
    const Symptom symptom = shown ? shown->symptom : oracle_.shown().symptom;
    Repro repro{.symptom = std::string(name_of(symptom.kind)),
                .said = oracle_.shown().text(),
                .script = script_,
                .blamed = oracle_.shown().blamed,
                .inputs = best_.inputs};
    if (best_.fault) repro.fault = best_.fault->rule + "@" + std::to_string(best_.fault->application);
    report_.bundle = bundle_text(own_, spec, in, place, std::move(repro));
  }

  const Session& session_;
  Session own_;
  Loaded& in_;
  TrialSpec spec_;
  std::string script_;
  Oracle oracle_;
  ReduceReport& report_;
  Specimen best_;
};

}  // namespace

ReduceReport reduce(const Session& session, Loaded& in, const TrialSpec& spec, const Wanted& wanted) {
  ReduceReport report;
  auto begin = std::chrono::steady_clock::now();
  auto done = catch_failures([&] { return Reduction(session, in, spec, wanted, report).run(), Unit{}; });
  if (!done) report.error = done.diag().text();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

ReduceReport reduce_input(const Session& session, Loaded& in, const TrialSpec& spec, const Wanted& wanted) {
  if (!in.is_tensor_graph) return reduce(session, in, spec, wanted);
  auto whole = session.begin(std::move(in));
  if (!whole) return {.error = whole.diag().text()};
  if (auto& schedule = whole->schedule(); !schedule) return {.error = schedule.diag().text()};
  auto begin = std::chrono::steady_clock::now();
  for (size_t number : whole->kernel_numbers()) {
    auto compilation = whole->kernel(number);
    if (!compilation) return {.error = compilation.diag().text()};
    session.progress("kernel " + std::to_string(number));
    Loaded kernel = std::move(*compilation).take();
    ReduceReport report = reduce(session, kernel, spec, wanted);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (report.error.empty() || session.cancelled()) return report;
  }
  return {.error = "none of its kernels, alone and with arrays of its own, shows that"};
}

std::string ReduceReport::text() const {
  char took[160];
  std::snprintf(took, sizeof took, "%zu nodes of %zu, after %zu tries in %.2f s%s\n", after, before, calls, seconds,
                interrupted ? "; interrupted, the best so far" : "");
  return took + ("  still " + verdict) + "\n";
}

std::string ReduceReport::json() const {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    if (!error.empty()) {
      json.member("error", error);
      return;
    }
    json.key("before").object([&] { json.member("nodes", before); });
    json.key("after").object([&] { json.member("nodes", after); });
    json.member("calls", calls).key("seconds").number(seconds, "%.3f");
    json.member("verdict", verdict);
    if (interrupted) json.member("interrupted", true);
  });
  return out + "\n";
}

}  // namespace tgc
