#include "lib/fuzz/fuzz.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "lib/compare/record_check.h"
#include "lib/compare/replay.h"
#include "lib/compilation/watchers.h"
#include "lib/execute/placement.h"
#include "lib/fuzz/known.h"
#include "lib/fuzz/maker.h"
#include "lib/fuzz/state.h"
#include "lib/reduce/reduce.h"
#include "lib/rewrite/hits.h"
#include "lib/run/repro_command.h"
#include "lib/support/crash_context.h"
#include "lib/support/deadline.h"
#include "lib/support/write_file.h"
#include "lib/text/graph_json.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr size_t kMaxKept = 4000;
constexpr uint64_t kRare = 3;
// seconds of processor time, so that findings do not depend on the machine's load
constexpr double kBisectSeconds = 20, kReduceSeconds = 40;
constexpr double kSecondsBetweenStates = 60;
constexpr const char* kFixedSetting = "ALLOW_HALF8";  // a setting that tinygrad reads only once

std::string rule_key(const Rule& rule) { return std::string(rule.name) + " " + std::string(short_file_name(rule)); }

// Returns true if the graph has an integer constant that its dtype cannot hold. tinygrad computes bounds from it
// without truncation.
bool has_out_of_range_constant(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) {
    if (!u.is(Op::CONST) || u.is_invalid() || !dtypes::is_int(u.dtype()) || u.dtype().is(Scalar::Index)) return false;
    Const value = u.arg().to_const();
    return py_less(value, dtypes::min(u.dtype().scalar())) || py_less(dtypes::max(u.dtype().scalar()), value);
  });
}

// Returns the graph as JSON that commands read as INPUT. Throws Failure if `kernel` cannot be read.
std::string kernel_json(const KernelText& kernel, const std::string& name) {
  InputGraph in =
      std::move(load_recorded_graph(kernel.settings, InputKind::Pyrender, kernel.ast, name).value_or_throw());
  return graph_to_json(in.root, {.name = name, .target = kernel.target, .settings = kernel.settings});
}

// Returns true if bisect confirms the rewrite, and the value before or after it is NaN or infinite at the witness.
// Bisect prefers a witness at which finite values differ.
bool has_nonfinite_witness(const Verdict& verdict) {
  auto is_end = [&w = verdict.witness](const char* side) {
    return w.contains(side) && (w.at(side).ends_with("inf") || w.at(side) == "nan");
  };
  return verdict.is_confirmed && (is_end("before") || is_end("after"));
}

InputGraph read_bundled_graph(const std::string& text, const std::string& name) {
  InputGraph in = std::move(load_graph_text({}, InputKind::Repro, text, name).value_or_throw());
  return std::move(load_recorded_graph(in.info.settings, InputKind::Repro, text, name).value_or_throw());
}

// Errors that end the campaign are thrown as Failure.
class Campaign {
 public:
  Campaign(const Session& session, const FuzzSpec& spec, FuzzReport& report)
      : session_(session), spec_(spec), report_(report), maker_(spec.seed, spec.golden_files) {}

  void run() {
    report_.has_known_rules = !spec_.known_rules_file.empty();
    if (report_.has_known_rules) known_rules_ = std::move(KnownRules::read(spec_.known_rules_file).value_or_throw());
    record_rule_events();
    for (const Rule* rule : maker_.rules()) rule_counts_[rule_key(*rule)] = 0;
    choose_devices();
    begin_time_ = last_save_time_ = Clock::now();
    continue_campaign();
    const size_t workers = spec_.graph.empty() ? std::max(1u, session_.num_jobs) : 1;
    for (size_t i = 0; i < workers && !spec_.tinygrad_command.empty(); i++)
      tinygrad_processes_.push_back(std::make_unique<TinygradProcess>(spec_.tinygrad_command, session_.cancel_check()));
    for (auto& tinygrad : tinygrad_processes_) require_tinygrad_answers(*tinygrad);
    if (!spec_.graph.empty()) {
      check_graph(maker_.remake_graph(parse_recipe(spec_.graph).value_or_throw()), tinygrad_of_worker(0));
      report_.num_graphs_made = 1;
    } else {
      std::vector<std::jthread> threads;
      for (size_t i = 1; i < workers; i++) threads.emplace_back([this, i] { run_worker(tinygrad_of_worker(i)); });
      run_worker(tinygrad_of_worker(0));
    }
    save_state();
    report_.seconds = seconds();
    finish_rule_counts();
    for (auto& [key, finding] : findings_) report_.findings.push_back(finding);
  }

 private:
  bool is_over(uint64_t number) const {
    if (session_.is_cancelled()) return true;
    return spec_.limit_minutes > 0 ? seconds_since(begin_time_) > 60 * spec_.limit_minutes : number >= spec_.num_graphs;
  }

  void choose_devices() {
    auto works = [](const std::string& device) {
      Placement place = std::move(choose_placement(device, "", Settings()).value_or_throw());
      return probe_device(place, Settings());
    };
    if (!spec_.device.empty()) devices_ = {spec_.device}, works(spec_.device).value_or_throw();
    else
      for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
        if (auto status = catch_failures([&] { return works(device).value_or_throw(); })) devices_.push_back(device);
        else session_.report_note(status.diag().text());
  }

  TinygradProcess* tinygrad_of_worker(size_t worker) {
    return tinygrad_processes_.empty() ? nullptr : tinygrad_processes_[worker].get();
  }

  void run_worker(TinygradProcess* tinygrad) {
    const MakerCallbacks steering{.choose_rule = [&](RandomSource& c) { return rarely_hit_rule(c); },
                                 .choose_parent = [&](RandomSource& c) { return rare_parent(c); }};
    while (auto number = next_graph_number()) {
      check_graph(maker_.make_graph(*number, steering), tinygrad);
      finish_graph(*number);
    }
  }

  // Returns nullopt if the campaign is over.
  std::optional<uint64_t> next_graph_number() {
    std::lock_guard guard(mutex_);
    const uint64_t number = unfinished_graph_numbers_.empty() ? next_graph_number_ : unfinished_graph_numbers_.back();
    if (is_over(number)) return std::nullopt;
    if (unfinished_graph_numbers_.empty()) next_graph_number_++;
    else unfinished_graph_numbers_.pop_back();
    graph_numbers_in_work_.insert(number);
    return number;
  }
  // If the session is cancelled, the graph stays unfinished, so that a continued campaign makes it again.
  void finish_graph(uint64_t number) {
    if (session_.is_cancelled()) return;
    std::unique_lock lock(mutex_);
    graph_numbers_in_work_.erase(number);
    report_.num_graphs_made++;
    if (!keeps_state() || seconds_since(last_save_time_) < kSecondsBetweenStates) return;
    last_save_time_ = Clock::now();
    lock.unlock();
    save_state();
  }

  bool keeps_state() const { return !spec_.state_file.empty() && spec_.graph.empty(); }
  double seconds() const { return earlier_seconds_ + seconds_since(begin_time_); }

  // Reads the state file, if there is one, and checks that the file can be written. Throws Failure.
  void continue_campaign() {
    if (!keeps_state()) return;
    campaign_key_ = {spec_.seed, maker_.golden_digest()};
    auto from = std::move(read_fuzz_state(spec_.state_file, campaign_key_).value_or_throw());
    next_graph_number_ = from.next_graph_number, unfinished_graph_numbers_ = std::move(from.unfinished_graph_numbers),
    applied_rules_.swap(from.applied_rules);
    for (auto& [rule, n] : from.rule_counts)
      if (auto it = rule_counts_.find(rule); it != rule_counts_.end()) it->second = n;
    rare_graphs_ = std::move(from.rare_graphs), findings_ = std::move(from.findings);
    earlier_seconds_ = from.report.seconds, report_ = std::move(from.report);
    report_.seed = spec_.seed, report_.has_known_rules = !spec_.known_rules_file.empty();
    write_file(spec_.state_file, state_text()).value_or_throw();
  }
  void save_state() {
    if (!keeps_state()) return;
    std::lock_guard guard(state_file_mutex_);
    if (auto status = write_file(spec_.state_file, state_text()); !status) session_.send_warning(status.diag());
  }
  std::string state_text() {
    std::lock_guard guard(mutex_);
    note_applied_rules();
    CampaignState state{.next_graph_number = next_graph_number_,
                        .unfinished_graph_numbers = unfinished_graph_numbers_,
                        .rule_counts = rule_counts_,
                        .applied_rules = applied_rules_,
                        .rare_graphs = rare_graphs_,
                        .findings = findings_,
                        .report = report_};
    state.unfinished_graph_numbers.insert(state.unfinished_graph_numbers.end(), graph_numbers_in_work_.begin(),
                                          graph_numbers_in_work_.end());
    state.report.seconds = seconds();
    return state_to_json(state, campaign_key_);
  }

  const Rule* rarely_hit_rule(RandomSource& chance) {
    std::lock_guard guard(mutex_);
    const Rule* rule = chance.random_item(maker_.rules());
    for (int others = 0; others < 7; others++)
      if (const Rule* other = chance.random_item(maker_.rules());
          rule_counts_[rule_key(*other)] < rule_counts_[rule_key(*rule)])
        rule = other;
    return rule;
  }

  std::optional<ParentGraph> rare_parent(RandomSource& chance) {
    std::lock_guard guard(mutex_);
    return rare_graphs_.empty() ? std::nullopt : std::optional(chance.random_item(rare_graphs_));
  }

  // Counts the rules in `hits`. If one of them is rare, keeps the kernel for mutations.
  void count_rule_hits(const std::map<std::string, uint64_t>& hits, const GeneratedGraph& made = {}) {
    bool is_rare = false;
    std::lock_guard guard(mutex_);
    for (auto& [rule, n] : hits) {
      uint64_t& count = rule_counts_[rule];
      is_rare |= count < kRare;
      count++;
    }
    if (!is_rare || !made.kernel || rare_graphs_.size() >= kMaxKept) return;
    if (auto text = text_of_graph(*made.kernel)) rare_graphs_.push_back({made.recipe, std::move(*text)});
  }

  void note_applied_rules() {
    for (const Rule* rule : maker_.rules())
      if (was_rule_hit(*rule)) applied_rules_.insert(rule_key(*rule));
  }
  void finish_rule_counts() {
    note_applied_rules();
    for (auto& [rule, graphs] : rule_counts_) graphs += applied_rules_.contains(rule);
    report_.num_rules = rule_counts_.size();
    for (auto& [rule, graphs] : rule_counts_)
      if (graphs) report_.num_rules_hit++;
      else report_.never_applied_rules.push_back(rule);
  }

  void check_graph(GeneratedGraph made, TinygradProcess* tinygrad) {
    CrashContext on(made.recipe.text() + ": " + command_for(made.recipe));
    if (made.tensor_graph) check_schedule(std::move(made), tinygrad);
    else if (made.kernel) check_generated_kernel(made, tinygrad);
    else count_outcome(FuzzOutcome{});
  }

  void check_generated_kernel(const GeneratedGraph& made, TinygradProcess* tinygrad) {
    RandomSource chance = maker_.random_source_for_recipe(made.recipe);
    bool on_devices = !spec_.device.empty() || chance.one_in(16);
    std::map<std::string, uint64_t> hits;
    std::vector<std::string> devices = on_devices ? devices_ : std::vector<std::string>();
    FuzzOutcome outcome =
        check_kernel(*made.kernel, chance, devices, [&](const Rewrite& a) { hits[rule_key(*a.rule)]++; });
    count_outcome(outcome);
    count_rule_hits(hits, made);
    if (outcome.failure) process_failure(made, *outcome.failure);
    if (tinygrad && outcome.kind == FuzzOutcome::Kind::Compared)
      check_against_tinygrad(*tinygrad, made.recipe, text_of_graph(*made.kernel));
  }

  void check_schedule(GeneratedGraph made, TinygradProcess* tinygrad) {
    if (tinygrad) check_against_tinygrad(*tinygrad, made.recipe, tensor_graph_text(*made.tensor_graph));
    auto whole = Compilation::begin(std::move(*made.tensor_graph), {});
    if (!whole) return;
    RewriteLog log;
    ScopedObserver watched(*whole, log);
    auto& schedule = whole->schedule();
    std::map<std::string, uint64_t> hits;
    for (const Rewrite& a : log.all_rewrites()) hits[rule_key(*a.rule)]++;
    whole->set_stage_observer(nullptr);
    count_rule_hits(hits);
    if (!schedule) return;
    for (size_t n : whole->kernel_numbers())
      if (GeneratedGraph kernel = maker_.kernel_of_schedule(*whole, made.recipe.steps[0].number, n); kernel.kernel)
        check_generated_kernel(kernel, tinygrad);
  }

  void count_outcome(const FuzzOutcome& outcome) {
    std::lock_guard guard(mutex_);
    using Kind = FuzzOutcome::Kind;
    (outcome.kind == Kind::Refused    ? report_.num_refused_kernels
     : outcome.kind == Kind::LeftOut  ? report_.num_left_out
     : outcome.kind == Kind::Compiled ? report_.num_compiled_kernels
                                      : report_.num_compared)++;
    report_.num_ref_runs += outcome.num_ref_runs, report_.num_rounding_runs += outcome.num_rounding_runs;
    report_.num_device_runs += outcome.num_device_runs;
    if (const auto n = report_.num_compared; n % 50 == 0)
      session_.report_progress(std::to_string(n) + " graphs, " + std::to_string(findings_.size()) + " findings");
  }

  static Result<KernelText> tensor_graph_text(const InputGraph& tensors) {
    auto text = pyrender(tensors.root);
    if (!text) return text.diag();
    return KernelText{*text, find_changed_settings(tensors.graph->settings()), ""};
  }

  // Throws Failure if tinygrad does not answer a simple question.
  static void require_tinygrad_answers(TinygradProcess& tinygrad) {
    const char* one = "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 0)\n"
                      "ast = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(UOp.const(dtypes.int, 1)).sink()\n";
    (void)compare_with_tinygrad(tinygrad, {one, {}, "CPU:CLANG"}, "one").value_or_throw();
  }

  void check_against_tinygrad(TinygradProcess& tinygrad, const GraphRecipe& recipe, const Result<KernelText>& graph) {
    if (!graph || graph->settings.contains(kFixedSetting)) return;
    auto report = compare_with_tinygrad(tinygrad, *graph, "fuzz" + std::to_string(recipe.steps[0].number));
    const std::string problem = !report ? report.diag().text() : report->skip_reason;
    if (!problem.empty()) return session_.report_note("not compared with tinygrad: " + problem);
    const bool is_kernel = !graph->target.empty();
    std::lock_guard guard(mutex_);
    if (report->is_identical()) return (void)(is_kernel ? report_.num_equal_kernels : report_.num_equal_schedules)++;
    auto [it, is_new] = findings_.try_emplace("divergence " + report->first_difference);
    FuzzFinding& finding = it->second;
    finding.num_graphs++;
    if (!is_new) return;
    finding.verdict = "divergence", finding.stage = report->first_difference;
    finding.message = (is_kernel ? "for " + graph->target : "of a tensor graph") + "\n" + report->explanation;
    finding.graph_number = recipe.steps[0].number, finding.name = recipe.text();
    finding.repro_command = command_for(recipe) + " --tinygrad=" + quote_for_shell(spec_.tinygrad_command);
    write_finding_file(finding, kernel_json(*graph, "fuzz" + std::to_string(finding.graph_number)));
    session_.report_note(finding.line() + "; again: " + finding.repro_command);
  }

  std::string command_for(const GraphRecipe& recipe) const {
    std::string out = "tgc fuzz --seed=" + std::to_string(spec_.seed) + " --graph=" + quote_for_shell(recipe.text());
    for (const std::string& file : spec_.golden_files) out += " --grow=" + quote_for_shell(file);
    if (!spec_.device.empty()) out += " --device=" + quote_for_shell(spec_.device);
    return out + session_.overrides.other_options;
  }

  // Findings with the same key count as one.
  struct KeyedFinding { FuzzFinding finding; std::string key; };

  // If the first bisection finds nothing, but REF shows the failure, bisects again with --each-stage.
  KeyedFinding bisect_failure(const GeneratedGraph& made, const FuzzFailure& failure, const Session& quiet,
                              RunOptions trial, const std::function<InputGraph()>& load) const {
    InputGraph in;
    Session limited = quiet;
    auto bisected = [&] {
      CancelRequest limit(session_.cancel, kBisectSeconds, CancelRequest::TimeKind::Thread);
      limited.cancel = &limit;
      in = load();
      return bisect(limited, in, trial);
    };
    BisectReport report = bisected();
    if (report.verdict.kind == Verdict::Kind::Same && failure.device == "REF") {
      trial.compare.should_run_each_stage = true;
      report = bisected();
    }
    const Verdict& verdict = report.verdict;
    FuzzFinding finding{.verdict = std::string(name_of(verdict.kind)),
                        .stage = verdict.stage,
                        .rule = verdict.rule,
                        .branch = verdict.branch,
                        .message = failure.message,
                        .graph_number = made.recipe.steps[0].number,
                        .name = made.recipe.text(),
                        .repro_command = command_for(made.recipe),
                        .num_graphs = 1};
    if (!report.error.empty()) finding.verdict = failure.symptom, finding.message += "; " + report.error;
    auto is = [&](Verdict::Kind kind) { return verdict.kind == kind; };
    if (!verdict.detail.empty() && (is(Verdict::Kind::Unresolved) || is(Verdict::Kind::Rewrite)))
      finding.message += "; " + verdict.detail;
    if (is(Verdict::Kind::Renderer) && !verdict.before.empty()) finding.message += "; of " + verdict.before;
    const bool is_wild =
        has_out_of_range_constant(in.root) || verdict.detail.find(kOutOfRangeConstantText) != std::string::npos;
    std::string rule = verdict.pass_name.empty() ? finding.rule : "LLVM's " + verdict.pass_name;
    if (!finding.branch.empty()) rule += " [" + finding.branch + "]";
    finding.known_entry = known_rules_.entry_of_finding({.rule = rule,
                                           .symptom = failure.symptom,
                                           .message = finding.message,
                                           .node = verdict.node_tree,
                                           .is_non_finite = failure.is_non_finite || has_nonfinite_witness(verdict),
                                           .has_out_of_range_constant = is_wild,
                                           .settings = find_changed_settings(in.graph->settings())});
    std::string key = finding.rule.empty() ? finding.verdict + " " + failure.symptom + " " + finding.known_entry
                                           : finding.rule + " " + finding.branch;
    if (!finding.known_entry.empty()) key += " (known)";  // unknown findings of the rule get another key
    if (is_wild) key += " (constant)";
    return {std::move(finding), std::move(key)};
  }

  // Counts the finding. Returns true if it is the first one with its key.
  bool count_finding(const KeyedFinding& n) {
    std::lock_guard guard(mutex_);
    auto other = moved_keys_.find(n.key);
    auto [it, inserted] = findings_.try_emplace(other == moved_keys_.end() ? n.key : other->second, n.finding);
    if (!inserted) it->second.num_graphs++;
    return inserted;
  }

  static FailureCriterion criterion_of(const std::string& symptom) {
    using Kind = FailureSignature::Kind;
    for (Kind kind : {Kind::Crash, Kind::Endless, Kind::Refused, Kind::Compile})
      if (symptom == name_of(kind)) return {kind, ""};
    return {Kind::Wrong, ""};
  }

  void process_failure(const GeneratedGraph& made, const FuzzFailure& failure) {
    const FuzzKernel& kernel = failure.kernel_variant ? *failure.kernel_variant : *made.kernel;
    const std::string name = "fuzz" + std::to_string(made.recipe.steps[0].number);
    Session quiet{.num_jobs = 1};
    quiet.overrides.target = failure.device == "REF" ? kernel.target : "";
    auto load = [&] {
      InputGraph in{.graph = std::make_shared<Graph>(kernel.graph->settings()), .info = {.name = name}};
      in.root = copy_into(*in.graph, kernel.ast);
      return in;
    };
    const RunOptions plain{.device = {.name = failure.device, .timeout_seconds = 20,
                                      .should_run_in_process = failure.device == "REF"}};
    RunOptions trial = plain;
    for (UOp u : toposort(kernel.ast))
      if (u.is(Op::DEFINE_VAR)) trial.input.variables[std::string(u.arg()[0].text())] = u.vmax().as_int().low_64_bits();
    KeyedFinding n = bisect_failure(made, failure, quiet, trial, load);
    if (!count_finding(n)) return;

    CancelRequest limit(session_.cancel, kReduceSeconds, CancelRequest::TimeKind::Thread);
    quiet.cancel = &limit;
    InputGraph in = load();
    ReduceReport reduced = reduce_graph(quiet, in, trial, criterion_of(failure.symptom));
    // if the refusal is not reproduced, the kernel may compute wrong values in REF: reduce that failure
    if (!reduced.error.empty() && failure.symptom == "refused") {
      in = load();
      reduced = reduce_graph(quiet, in, trial, criterion_of("wrong"));
    }
    std::string text = reduced.bundle_text;
    if (!reduced.error.empty()) {
      n.finding.message += "; not reduced: " + reduced.error;
      text = graph_to_json(kernel.ast, {.name = name,
                                        .target = kernel.target,
                                        .settings = find_changed_settings(kernel.graph->settings())});
    } else if (n.finding.known_entry.empty() || n.finding.rule.empty()) {
      // The reduced kernel has fewer rewrites, so bisect finds the wrong rule more exactly.
      auto load_small = [&] { return read_bundled_graph(text, name); };
      const Session one_job{.num_jobs = 1};
      auto small = catch_failures([&] { return bisect_failure(made, failure, one_job, plain, load_small); });
      const bool names_cause = small && !(small->finding.rule.empty() && small->finding.known_entry.empty());
      if (names_cause && small->key != n.key) {
        if (!move_to_key(n, *small)) return;
        n = std::move(*small);
      }
    }
    n.finding.num_nodes = reduced.num_nodes_after;
    write_finding_file(n.finding, text);
    std::lock_guard guard(mutex_);
    FuzzFinding& kept = findings_[n.key];
    n.finding.num_graphs = kept.num_graphs;  // other threads may have made the same finding meanwhile
    kept = n.finding;
    if (kept.known_entry.empty()) session_.report_note(kept.line() + "; again: " + kept.repro_command);
  }

  // Moves `before` to the key of `n`, the finding of the reduced kernel. Returns true if it is the first one with that
  // key. If `before` is known, later findings with its key count for the new key.
  bool move_to_key(const KeyedFinding& before, const KeyedFinding& n) {
    std::lock_guard guard(mutex_);
    const size_t times = findings_.extract(before.key).mapped().num_graphs;
    if (!before.finding.known_entry.empty()) moved_keys_[before.key] = n.key;
    auto [it, inserted] = findings_.try_emplace(n.key, n.finding);
    it->second.num_graphs = inserted ? times : it->second.num_graphs + times;
    return inserted;
  }

  void write_finding_file(FuzzFinding& finding, const std::string& text) const {
    if (spec_.folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(spec_.folder, error);
    finding.file = spec_.folder + "/" + file_name_of(finding.rule.empty() ? finding.verdict : finding.rule) + "-" +
                   std::to_string(finding.graph_number) + ".json";
    if (auto status = write_file(finding.file, text); !status) session_.send_warning(status.diag());
  }

  const Session& session_;
  const FuzzSpec& spec_;
  FuzzReport& report_;
  const GraphMaker maker_;
  KnownRules known_rules_;
  std::vector<std::string> devices_;
  std::vector<std::unique_ptr<TinygradProcess>> tinygrad_processes_;
  CampaignKey campaign_key_;
  Clock::time_point begin_time_;
  double earlier_seconds_ = 0;
  std::mutex state_file_mutex_;  // protects the state file; must be locked before mutex_
  std::mutex mutex_;  // protects report_ and the members below
  Clock::time_point last_save_time_;
  uint64_t next_graph_number_ = 0;
  std::vector<uint64_t> unfinished_graph_numbers_;  // next_graph_number() returns these first
  std::set<uint64_t> graph_numbers_in_work_;
  std::set<std::string> applied_rules_;
  std::map<std::string, uint64_t> rule_counts_;
  std::vector<ParentGraph> rare_graphs_;
  std::map<std::string, FuzzFinding> findings_;
  std::map<std::string, std::string> moved_keys_;  // old key to new key
};

}  // namespace

FuzzReport fuzz(const Session& session, const FuzzSpec& spec) {
  if (session.tinygrad_pool) return fuzz_live(session, spec);
  FuzzReport report{.seed = spec.seed};
  auto done = catch_failures([&] { return Campaign(session, spec, report).run(), Unit{}; });
  if (!done) report.error = done.diag().text();
  return report;
}

}  // namespace tgc
