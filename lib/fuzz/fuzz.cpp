#include "lib/fuzz/fuzz.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "lib/compilation/random_kernel.h"
#include "lib/compilation/scoped_watch.h"
#include "lib/fuzz/from_pattern.h"
#include "lib/fuzz/tensor_graph.h"
#include "lib/fuzz/trial_graph.h"
#include "lib/inspect/rule_catalog.h"
#include "lib/reduce/reduce.h"
#include "lib/rewrite/hits.h"
#include "lib/session/with_tinygrad.h"
#include "lib/spec/loops.h"
#include "lib/support/file_name.h"
#include "lib/support/write_file.h"
#include "lib/text/golden.h"
#include "lib/text/graph_json.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"

namespace tgc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTargets[] = {
    "CPU:LLVM", "CPU:CLANG",        "CPU:LLVM",         "CPU:CLANG",        "CUDA:CUDA:sm_80",  "CUDA:PTX:sm_80",
    "CUDA:CUDA:sm_89", "AMD:HIP:gfx1100", "AMD:HIP:gfx942", "AMD:LLVM:gfx1100", "AMD:LLVM:gfx942", "AMD:LLVM:gfx1201",
    "METAL",    "CL",               "CL:INTEL",         "WEBGPU",           "QCOM"};
// Settings under which other rules apply, one of them in a quarter of the graphs.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"NOOPT", "1"},    {"DEVECTORIZE", "0"}, {"DEVECTORIZE", "2"},       {"TRANSCENDENTAL", "2"},
    {"NOLOCALS", "1"}, {"TC_OPT", "2"},      {"DISABLE_FAST_IDIV", "1"}, {"IMAGE", "1"},
    {"IMAGE", "2"},    {"TC", "2"},          {"ALLOW_HALF8", "1"}};
// The same of tensor graphs, in half of them.
constexpr std::pair<const char*, const char*> kTensorSettings[] = {
    {"RING", "2"}, {"ALL2ALL", "2"}, {"PCONTIG", "2"}, {"PCONTIG", "3"}, {"IMAGE", "2"}, {"SPLIT_REDUCEOP", "0"}};
constexpr int64_t kMostNodes = 220;    // of a golden kernel that others are grown from; of a tensor graph ten times
constexpr size_t kMostKept = 4000;     // graphs that hit what few hit
constexpr uint64_t kRare = 3;
constexpr size_t kMostExported = 500;
constexpr const char* kWild = "a constant that its dtype does not hold";  // as known_unsound.md has it
constexpr const char* kFixedSetting = "ALLOW_HALF8";  // tinygrad reads it once, as the program begins

std::string key_of(const Rule& rule) { return std::string(rule.name) + " " + std::string(short_file(rule)); }

// One campaign. Throws Failure.
class Campaign {
 public:
  Campaign(const Session& session, const FuzzSpec& spec, FuzzReport& report)
      : session_(session), spec_(spec), report_(report) {}

  void run() {
    if (!spec_.known.empty()) {
      auto known = std::move(known_rules(spec_.known).value_or_throw());
      known_.insert(known.begin(), known.end());
    }
    for (const std::string& file : spec_.grow) read_parents(file);
    note_from_now_on();
    for (const CatalogRule& r : catalog_rules())
      if (!short_file(*r.rule).starts_with("lib/spec/"))  // what tests a node rewrites none
        rules_.push_back(r.rule), counts_[key_of(*r.rule)] = 0;
    find_targets();
    choose_devices();
    begin_ = Clock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < session_.jobs; i++) threads.emplace_back([&] { work(); });
    work();
    for (std::thread& t : threads) t.join();
    report_.seconds = seconds();
    compare_with_tinygrad();
    for (const Rule* rule : rules_)  // what gates, or notes something, makes no node
      if (was_hit(*rule)) counts_[key_of(*rule)]++;
    std::set<std::string> rules;
    for (const Rule* rule : rules_) rules.insert(key_of(*rule));
    report_.rules = rules.size();
    for (const std::string& rule : rules)
      if (counts_[rule]) report_.rules_hit++;
      else report_.never_hit.push_back(rule);
    for (auto& [key, finding] : findings_) report_.findings.push_back(finding);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool over(uint64_t number) const {
    return session_.cancelled() || (spec_.minutes > 0 ? seconds() > 60 * spec_.minutes : number >= spec_.count);
  }

  void choose_devices() {
    if (!spec_.device.empty()) devices_ = {spec_.device}, works(spec_.device).value_or_throw();
    else
      for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
        if (auto status = catch_failures([&] { return works(device).value_or_throw(); })) devices_.push_back(device);
        else session_.note(std::string("nothing runs on ") + device + ": " + status.diag().text());
  }

  void read_parents(const std::string& file) {
    auto reader = std::move(GoldenReader::open(file).value_or_throw());
    bool tensors = reader.header().level == "tensor";
    while (auto record = std::move(reader.next().value_or_throw()))
      if (record->nodes < (tensors ? 10 : 1) * kMostNodes)
        (tensors ? tensors_ : kernels_).push_back({record->ast, settings_of(reader.header(), *record), record->target});
  }

  void work() {
    for (uint64_t number; number = next_++, !over(number);) one(number);
  }

  // ---- making a kernel
  static std::shared_ptr<Graph> graph_of(const GoldenSettings& recorded, Chance& chance) {
    Settings settings;
    settings.CPU_COUNT = 4;
    for (auto& [name, value] : recorded) (void)settings.set(name, value);
    settings.DEBUG = 0;
    if (chance.one_in(4)) {
      auto [name, value] = chance.one_of(kSettings);
      (void)settings.set(name, value);
    }
    return std::make_shared<Graph>(settings);
  }

  std::optional<FuzzKernel> grown(const KernelText& parent, Chance& chance, bool as_it_is) const {
    FuzzKernel out{.graph = graph_of(parent.settings, chance), .ast = {}, .target = parent.target};
    auto ast = read_pyrender(*out.graph, parent.ast, "golden");
    if (!ast) return std::nullopt;
    out.ast = *ast;
    if (as_it_is) return out;
    for (int64_t most : {32, 8, 4})
      if (is_too_large(out.ast))
        if (UOp smaller = smaller_kernel(out.ast, most)) out.ast = smaller;
    if (!chance.one_in(6)) out.ast = grown_kernel(out.ast, chance);
    if (!out.ast) return std::nullopt;
    return out;
  }

  // From the left side of one of a few rules, the one that the fewest kernels hit; for a target that has it.
  UOp from_rule(Graph& graph, Chance& chance, std::string& target) {
    for (int tries = 0; tries < 16; tries++) {
      const Rule* rule = chance.one_of(rules_);
      {
        std::lock_guard guard(lock_);
        for (int others = 0; others < 7; others++)
          if (const Rule* other = chance.one_of(rules_); counts_[key_of(*other)] < counts_[key_of(*rule)]) rule = other;
      }
      bool is_product = rule->left && rule->left->ops.contains(Op::WMMA) && rule->left->ops != OpSet::all();
      UOp ast = is_product ? matmul_kernel(graph, chance) : pattern_kernel(graph, chance, *rule);
      if (!ast) continue;
      if (auto it = targets_.find(rule); it != targets_.end()) target = chance.one_of(it->second);
      return ast;
    }
    return {};
  }

  // By rule: the targets that have it in one of their stages.
  void find_targets() {
    Graph graph;
    for (const char* name : kTargets) {
      auto target = parse_target(name, graph.settings());
      if (!target) continue;
      for (const StageRow& row : stage_rows()) {
        const RuleSet* set = row.kernel ? rules_of(row, *target, graph) : nullptr;
        if (!set) continue;
        for (const Rule* rule : set->rules()) targets_[rule].push_back(name);
      }
    }
  }

  std::optional<FuzzKernel> kernel(uint64_t number, Chance& chance) {
    std::optional<FuzzKernel> out;
    if (number < kernels_.size()) return grown(kernels_[number], chance, true);  // each once as it is
    size_t kind = chance.below(12);
    if (kind >= 8) {
      KernelText parent;
      {
        std::lock_guard guard(lock_);
        bool rare = !rare_.empty() && chance.one_in(2);
        if (rare || !kernels_.empty()) parent = rare ? chance.one_of(rare_) : chance.one_of(kernels_);
      }
      if (!parent.ast.empty()) out = grown(parent, chance, false);
    }
    if (!out) {
      out = FuzzKernel{.graph = graph_of({}, chance), .ast = {}, .target = ""};
      Graph& graph = *out->graph;
      out->ast = chance.one_in(24) ? matmul_kernel(graph, chance)
                 : kind < 3  ? from_rule(graph, chance, out->target)
                 : kind >= 7 ? RandomKernel(graph, chance.next()).ast()
                             : algebra_kernel(graph, chance);
    }
    if (out->target.empty() || chance.one_in(8)) out->target = chance.one_of(kTargets);
    if (!parse_target(out->target, out->graph->settings())) out->target = "CPU:LLVM";
    return out;
  }

  // ---- one graph
  void one(uint64_t number) {
    Chance chance(spec_.seed * 0x100000001B3ull + number);
    bool is_parent = number < tensors_.size();
    if (is_parent || chance.one_in(16)) {
      auto made = catch_failures([&] { return schedulable(is_parent ? &tensors_[number] : nullptr, chance); });
      return made && *made ? try_schedule(number, std::move(**made), chance) : count(FuzzOutcome{});
    }
    auto made = catch_failures([&] { return kernel(number - tensors_.size(), chance); });
    if (!made || !*made || !(*made)->ast || !is_kernel((*made)->ast)) return count(FuzzOutcome{});
    try_one(number, **made, chance);
  }

  // A tensor graph: that parent as it is, one grown from a parent, or a new one.
  std::optional<Loaded> schedulable(const KernelText* parent, Chance& chance) const {
    bool as_it_is = parent;
    if (!parent && !tensors_.empty() && chance.one_in(3)) parent = &tensors_[chance.below(tensors_.size())];
    Settings settings;
    settings.CPU_COUNT = 4;
    if (parent)
      for (auto& [name, value] : parent->settings) (void)settings.set(name, value);
    if (!as_it_is && chance.one_in(2)) {
      auto [name, value] = chance.one_of(kTensorSettings);
      (void)settings.set(name, value);
    }
    if (!parent) {
      Loaded out{.graph = std::make_shared<Graph>(settings), .is_tensor_graph = true};
      out.root = tensor_graph(*out.graph, chance);
      return is_sound(out.root, Spec::Tensor) ? std::optional(std::move(out)) : std::nullopt;
    }
    auto out = load_text(settings, InputKind::Pyrender, parent->ast, "golden");
    if (!out) return std::nullopt;
    if (!as_it_is) {
      out->root = grown_tensor_graph(out->root, chance);
      if (!out->root || !is_sound(out->root, Spec::Tensor)) return std::nullopt;
    }
    return std::move(*out);
  }

  void try_one(uint64_t number, const FuzzKernel& kernel, Chance& chance) {
    bool on_devices = !spec_.device.empty() || chance.one_in(16);
    std::map<std::string, uint64_t> hits;
    std::vector<std::string> devices = on_devices ? devices_ : std::vector<std::string>();
    FuzzOutcome outcome = try_kernel(kernel, chance, devices, [&](const Application& a) { hits[key_of(*a.rule)]++; });
    count(outcome);
    note(hits, kernel, outcome.kind == FuzzOutcome::Kind::Compared);
    if (outcome.failure) found(number, kernel, *outcome.failure);
  }

  // A tensor graph: its stages watched, and each of its kernels as any other.
  void try_schedule(uint64_t number, Loaded loaded, Chance& chance) {
    auto whole = Compilation::begin(std::move(loaded), {});
    if (!whole) return;
    ApplicationLog log;
    ScopedWatch watched(*whole, log);
    auto& schedule = whole->schedule();
    std::map<std::string, uint64_t> hits;
    for (const Application& a : log.list()) hits[key_of(*a.rule)]++;
    whole->watch(nullptr);
    note(hits, {});
    if (!schedule) return;
    for (size_t n : whole->kernel_numbers()) {
      auto one = whole->kernel(n);
      if (!one) continue;
      std::string target = chance.one_of(kTargets);
      Loaded in = std::move(*one).take();
      FuzzKernel kernel{in.graph, in.root, parse_target(target, in.graph->settings()) ? target : "CPU:LLVM"};
      if (toposort(kernel.ast).size() < size_t(kMostNodes) && is_kernel(kernel.ast))
        try_one(number, kernel, chance);
    }
  }

  void count(const FuzzOutcome& outcome) {
    std::lock_guard guard(lock_);
    using Kind = FuzzOutcome::Kind;
    (outcome.kind == Kind::Refused    ? report_.refused
     : outcome.kind == Kind::LeftOut  ? report_.left_out
     : outcome.kind == Kind::Compiled ? report_.compiled
                                      : report_.graphs)++;
    report_.runs += outcome.runs, report_.device_runs += outcome.device_runs, report_.rounding += outcome.rounding;
    if (report_.graphs % 50 == 0)
      session_.progress(std::to_string(report_.graphs) + " graphs, " + std::to_string(findings_.size()) + " findings");
  }

  // A kernel that hits what few hit is a parent from now on.
  void note(const std::map<std::string, uint64_t>& hits, const FuzzKernel& kernel, bool compared = false) {
    bool is_rare = false;
    std::lock_guard guard(lock_);
    for (auto& [rule, n] : hits) {
      uint64_t& count = counts_[rule];
      is_rare |= count < kRare;
      count++;
    }
    is_rare &= kernel.ast && rare_.size() < kMostKept;
    bool exported = compared && !spec_.tinygrad.empty() && exported_.size() < kMostExported;
    auto text = is_rare || exported ? pyrender(kernel.ast) : Diag{""};
    if (!text) return;
    KernelText made{*text, changed_settings(kernel.graph->settings()), kernel.target};
    if (exported && !made.settings.contains(kFixedSetting)) exported_.push_back(made);
    if (is_rare) rare_.push_back(std::move(made));
  }

  // ---- text by text: tinygrad compiles the same graphs, and its records are replayed
  void compare_with_tinygrad() {
    if (exported_.empty()) return;
    session_.progress("tinygrad compiles " + std::to_string(exported_.size()) + " graphs");
    auto reports = std::move(compared_with_tinygrad(session_, spec_.tinygrad, exported_).value_or_throw());
    for (size_t i = 0; i < reports.size(); i++) {
      const RecordReport& report = reports[i];
      if (report.identical()) {
        report_.with_tinygrad++;
        continue;
      }
      auto [it, is_new] = findings_.try_emplace("divergence " + report.first);
      it->second.verdict = "divergence", it->second.stage = report.first, it->second.times++;
      if (is_new) it->second.said = "for " + report.target + report.skipped + ": " + exported_[i].ast;
    }
  }

  // ---- a finding
  // By its rule and branch, or by its symptom and what is said: "compile: invalid cast opcode". Perhaps under one
  // condition alone, which stands before it: "DEVECTORIZE=2, crash: a vector at an address", "non-finite, mul-fdiv".
  bool is_known(const FuzzFinding& f, const FuzzFailure& failure, const Settings& settings) const {
    auto changed = changed_settings(settings);
    auto holds = [&](const std::string& condition) {
      if (condition == "non-finite") return failure.is_non_finite;
      size_t equals = condition.find('=');
      auto it = changed.find(condition.substr(0, equals));
      return it != changed.end() && it->second == condition.substr(equals + 1);
    };
    const std::string rule = f.branch.empty() ? f.rule : f.rule + " [" + f.branch + "]";
    return std::ranges::any_of(known_, [&](std::string known) {
      if (size_t comma = known.find(", "); comma != known.npos && comma < known.find(": ")) {
        if (!holds(known.substr(0, comma))) return false;
        known = known.substr(comma + 2);
      }
      if (known == rule) return true;
      size_t colon = known.find(": ");
      bool is_it = colon != known.npos && known.substr(0, colon) == failure.symptom;
      return is_it && f.said.find(known.substr(colon + 2)) != f.said.npos;
    });
  }

  // A constant that its dtype does not hold: its bounds are those of its Python number.
  static bool has_wild_constant(UOp root) {
    return std::ranges::any_of(toposort(root), [](UOp u) {
      if (!u.is(Op::CONST) || u.is_invalid() || !dtypes::is_int(u.dtype()) || u.dtype().is(Scalar::Index)) return false;
      Const value = u.arg().to_const();
      return py_less(value, dtypes::min(u.dtype().scalar())) || py_less(dtypes::max(u.dtype().scalar()), value);
    });
  }

  void found(uint64_t number, const FuzzKernel& kernel, const FuzzFailure& failure) {
    Session quiet{.jobs = 1, .cancel = session_.cancel};
    quiet.over.target = failure.device == "REF" ? kernel.target : "";
    auto load = [&] {
      Loaded in{.graph = std::make_shared<Graph>(kernel.graph->settings()),
                .info = {.name = "fuzz" + std::to_string(number)}};
      in.root = copy_into(*in.graph, kernel.ast);
      return in;
    };
    TrialSpec trial{.device = failure.device, .timeout_seconds = 20};
    for (UOp u : toposort(kernel.ast))
      if (u.is(Op::DEFINE_VAR)) trial.variables[std::string(u.arg()[0].text())] = u.vmax().as_int().low64();
    Loaded in = load();
    BisectReport blamed = bisect(quiet, in, trial);
    FuzzFinding finding{.verdict = std::string(name_of(blamed.verdict)),
                        .stage = blamed.stage,
                        .rule = blamed.rule,
                        .branch = blamed.branch,
                        .said = failure.said,
                        .graph = number,
                        .times = 1};
    if (!blamed.error.empty()) finding.verdict = failure.symptom, finding.said += "; " + blamed.error;
    if (blamed.verdict == BisectReport::Verdict::Renderer) finding.said += "; of " + blamed.before;
    finding.known = is_known(finding, failure, kernel.graph->settings());
    std::string key =
        finding.rule.empty() ? finding.verdict + " " + failure.symptom : finding.rule + " " + finding.branch;
    if (finding.known) key += " (known)";  // of one symptom there may be another
    if (has_wild_constant(kernel.ast)) finding.known |= known_.contains(kWild), key += " (constant)";
    {
      std::lock_guard guard(lock_);
      auto [it, is_new] = findings_.try_emplace(key, finding);
      if (!is_new) {
        it->second.times++;
        return;
      }
    }
    Wanted wanted{failure.symptom == "crash"     ? Symptom::Kind::Crash
                  : failure.symptom == "endless" ? Symptom::Kind::Endless
                  : failure.symptom == "refused" ? Symptom::Kind::Refused
                  : failure.symptom == "compile" ? Symptom::Kind::Compile
                                                 : Symptom::Kind::Wrong,
                  ""};
    in = load();
    ReduceReport reduced = reduce(quiet, in, trial, wanted);
    std::string text = reduced.bundle;
    if (!reduced.error.empty()) {
      finding.said += "; not reduced: " + reduced.error;
      text = graph_to_json(kernel.ast, {.name = in.info.name,
                                        .target = kernel.target,
                                        .settings = changed_settings(kernel.graph->settings())});
    }
    if (!spec_.folder.empty()) {
      std::error_code error;
      std::filesystem::create_directories(spec_.folder, error);
      finding.file = spec_.folder + "/" + file_name_of(finding.rule.empty() ? finding.verdict : finding.rule) + "-" +
                     std::to_string(number) + ".json";
      if (auto status = write_file(finding.file, text); !status) session_.warn(status.diag());
    }
    std::lock_guard guard(lock_);
    FuzzFinding& kept = findings_[key];
    kept.nodes = reduced.after, kept.file = finding.file, kept.said = finding.said;
  }

  const Session& session_;
  const FuzzSpec& spec_;
  FuzzReport& report_;
  std::set<std::string> known_;
  std::vector<std::string> devices_;
  std::vector<const Rule*> rules_;
  std::map<const Rule*, std::vector<const char*>> targets_;
  std::vector<KernelText> kernels_, tensors_;
  Clock::time_point begin_;
  std::atomic<uint64_t> next_ = 0;
  std::mutex lock_;  // of all that follows, and of the report
  std::map<std::string, uint64_t> counts_;  // of rules: graphs that they applied in
  std::vector<KernelText> rare_, exported_;
  std::map<std::string, FuzzFinding> findings_;
};

}  // namespace

FuzzReport fuzz(const Session& session, const FuzzSpec& spec) {
  FuzzReport report{.seed = spec.seed};
  auto done = catch_failures([&] { return Campaign(session, spec, report).run(), Unit{}; });
  if (!done) report.error = done.diag().text();
  return report;
}

}  // namespace tgc
