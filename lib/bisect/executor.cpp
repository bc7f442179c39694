#include "lib/bisect/executor.h"

#include <algorithm>

#include "lib/bisect/rewrite_sides.h"
#include "lib/compilation/watchers.h"
#include "lib/contain/process.h"
#include "lib/contain/temporary_folder.h"
#include "lib/driver/failure_collector.h"
#include "lib/execute/placement.h"
#include "lib/execute/sanitized.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/rules/rule_catalog.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/compile_source.h"
#include "lib/support/deadline.h"
#include "lib/support/write_file.h"
#include "lib/text/pyrender.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/truncate_loops.h"

namespace tgc {
namespace {

class CancelWatcher : public StageObserver, public RewriteObserver {
 public:
  explicit CancelWatcher(const Session& session) : session_(session) {}
  using RewriteObserver::begin_rewrite, RewriteObserver::end_rewrite;
  void begin_compilation(Compilation& c) override { set_observer(c.graph(), this); }
  void end_compilation(Compilation& c) override { set_observer(c.graph(), nullptr); }
  void on_rule_applied(const RuleHit&, UOp, UOp, RuleCost) override {
    if (session_.is_cancelled()) throw Failure("cancelled");
  }

 private:
  const Session& session_;
};

}  // namespace

EquivalenceResult ObservedRun::side_equivalence(const Rewrite& a) const {
  const size_t i = index_of_rewrite(a);
  return i < compared_sides.size() ? compared_sides[i] : EquivalenceResult{};
}

bool ObservedRun::are_sides_identical(const Rewrite& a) const {
  const EquivalenceResult s = side_equivalence(a);
  return s.kind == EquivalenceResult::Kind::Same && s.is_exact;
}

std::vector<const Rewrite*> ObservedRun::suspect_rewrites() const {
  using Kind = EquivalenceResult::Kind;
  std::vector<const Rewrite*> out;
  for (size_t i = 0; i < compared_sides.size(); i++)
    if (compared_sides[i].kind == Kind::Differ || compared_sides[i].kind == Kind::Unlike)
      out.push_back(&application_log.all_rewrites()[i]);
  std::ranges::stable_sort(out, std::greater(), [&](auto* a) {
    return std::pair(compared_sides[index_of_rewrite(*a)].is_beyond_rounding, has_counterexample(*a->rule));
  });
  return out;
}

const KernelOutcome& BisectExecutor::first_outcome() {
  if (std::exchange(has_run_, true)) return first_outcome_;
  first_outcome_ = compile_and_run(), second_outcome_ = compile_and_run();
  if (!is_endless(first_outcome_))
    settings_.REWRITE_STACK_LIMIT = std::max(settings_.REWRITE_STACK_LIMIT, Settings().REWRITE_STACK_LIMIT);
  if (!first_outcome_.passes() && first_outcome_.kind != KernelOutcome::Kind::Fails)
    probe_device(repro_.placement, settings_, repro_.execute_options()).value_or_throw();
  return first_outcome_;
}

ObservedRun& BisectExecutor::observed_run() {
  if (observed_run_) return *observed_run_;
  if (repro_.test_command.empty()) first_outcome();
  else settings_.REWRITE_STACK_LIMIT = std::max(settings_.REWRITE_STACK_LIMIT, Settings().REWRITE_STACK_LIMIT);
  observed_run_ = std::make_unique<ObservedRun>(begin_compilation());
  ObservedRun& w = *observed_run_;
  w.compilation.set_stage_observer(&w.application_log);
  auto& list = w.compilation.list();
  w.compilation.set_stage_observer(nullptr);
  if (!list) return w.outcome = refused_outcome(list.diag()), w;
  w.linear_list = *list;
  if (!repro_.test_command.empty()) return w;
  w.outcome = run_linear_list(w.linear_list);
  if (repro_.options.compare.should_run_each_stage)
    for (const StageRun& s : w.application_log.stage_runs())
      if (w.outcome.passes() && s.row->is_graph_stage() && s.result && !(s.result == s.input))
        w.outcome = run_watched_graph(s.result);
  return w;
}

void BisectExecutor::compare_sides(size_t most) {
  ObservedRun& w = observed_run();
  std::span<const Rewrite> list = w.application_log.all_rewrites();
  list = list.first(std::min(list.size(), most));
  bisect_counts_.num_rewrites = list.size();
  auto sides = evaluate_sides(w.compilation, list, repro_.arrays.inputs, repro_.options.input.variables);
  if (!sides) {
    w.comparison_error = "the sides of the rewrites were not compared: " + sides.diag().text();
    return;
  }
  w.compared_sides = std::move(*sides);
  bisect_counts_.num_compared += size_t(
      std::ranges::count_if(w.compared_sides, [](auto& s) { return s.kind != EquivalenceResult::Kind::Open; }));
}

KernelOutcome BisectExecutor::failing_or_passing_outcome() {
  if (!has_run_) return {};
  return !first_outcome_.passes()    ? first_outcome_
         : !second_outcome_.passes() ? second_outcome_
         : observed_run_              ? observed_run_->outcome
                                     : KernelOutcome();
}

void BisectExecutor::throw_if_cancelled() const {
  if (repro_.session.is_cancelled()) throw Failure("cancelled");
}

Compilation BisectExecutor::begin_compilation(const std::string& target, const Settings& settings) const {
  throw_if_cancelled();
  return compile_copy(repro_.session, repro_.input_graph, target, settings).value_or_throw();
}

bool BisectExecutor::passes_on_target(const std::string& target) {
  auto passes = catch_failures([&] {
    Compilation c = begin_compilation(target, settings_);
    auto& list = c.list();
    if (!list) return false;
    Placement other = std::move(choose_placement("", target, repro_.input_graph.graph->settings()).value_or_throw());
    Executable kernel = std::move(Executable::make_for_device(*list, *other.target, *other.device).value_or_throw());
    return run_kernel(kernel, *other.device).passes();
  });
  return passes && *passes;
}

KernelOutcome BisectExecutor::compile_and_run(StageObserver* stage_observer) {
  if (!repro_.linear_list.empty()) return run_linear_list(repro_.linear_list);
  Compilation c = begin_compilation();
  return compile_and_run(c, stage_observer);
}

KernelOutcome BisectExecutor::compile_and_run(Compilation& c, StageObserver* stage_observer) {
  if (stage_observer) c.set_stage_observer(stage_observer);
  const KernelOutcome of_stages = repro_.options.compare.should_run_each_stage ? run_stages(c) : KernelOutcome();
  auto& list = c.list();
  if (stage_observer) c.set_stage_observer(nullptr);
  if (!list) return refused_outcome(list.diag());
  if (!of_stages.passes()) return of_stages;
  return repro_.test_command.empty() ? run_linear_list(*list) : run_command(c.current_graph());
}

KernelOutcome BisectExecutor::run_stages(Compilation& c) {
  while (c.next_row() && c.next_row()->is_graph_stage()) {
    auto step = c.run_step();
    if (!step) return refused_outcome(step.diag());
    if (!step->has_changed()) continue;
    if (KernelOutcome out = run_graph(step->after); !out.passes()) return out;
  }
  return {};
}

bool BisectExecutor::fits_stack_limit(int64_t rewrite_stack_limit) const {
  Settings higher = settings_;
  higher.REWRITE_STACK_LIMIT = rewrite_stack_limit;
  CancelWatcher stage_observer(repro_.session);
  Compilation c = begin_compilation(repro_.placement.target->name(), higher);
  ScopedObserver watched(c, stage_observer);
  auto& list = c.list();
  const bool ends = list || !is_endless(list.diag());
  throw_if_cancelled();
  return ends;
}

KernelOutcome BisectExecutor::run_watched_graph(UOp root) {
  auto [it, is_new] = observed_run_->graph_outcomes.try_emplace(root.id());
  if (is_new) it->second = run_graph(root);
  return it->second;
}

KernelOutcome BisectExecutor::run_graph(UOp root) {
  throw_if_cancelled();
  if (!repro_.test_command.empty()) return run_command(root);
  if (!repro_.is_small) return run_truncated_graph(root);
  auto kernel = Executable::make_for_ref(root);
  if (!kernel) return refused_outcome(kernel.diag());
  auto inputs = make_input_arrays(kernel->buffers(), repro_.arrays.inputs, "", std::nullopt);
  if (!inputs) return refused_outcome(inputs.diag());
  bisect_counts_.num_runs++;
  const DeadlineScope trial(repro_.options.device.trial_seconds());
  return compare_execution(repro_.run_in_ref(*kernel, *inputs));
}

KernelOutcome BisectExecutor::run_command(UOp root) {
  auto text = pyrender(root);
  if (!text) return refused_outcome(text.diag());
  TemporaryFolder folder;
  const std::string file = folder.file("graph");
  write_file(file, *text).value_or_throw();
  const int exit_code =
      run_shell(command_with_file(repro_.test_command, file), {.should_stop = repro_.session.cancel_check()})
          .value_or_throw();
  if (exit_code == 127)
    throw Failure(Diag{.message = "--cmd could not be run: '" + repro_.test_command + "'",
                       .expected = "a shell command with {}"});
  bisect_counts_.num_runs++;
  return {exit_code == 0 ? KernelOutcome::Kind::Fails : KernelOutcome::Kind::Passes, {}};
}

KernelOutcome BisectExecutor::run_truncated_graph(UOp root) {
  constexpr double kWork = 1.6e7;       // limit for the UOps that REF evaluates after shortening loops
  constexpr size_t kMostElements = 512;  // limit for the compared elements of each array
  const Arrays& inputs = repro_.arrays.inputs;
  const VariableValues& variables = repro_.options.input.variables;
  auto done = catch_failures([&]() -> KernelOutcome {
    Graph graph(settings_);
    UninstrumentedScope uninstrumented(graph);
    bisect_counts_.num_runs++;
    StoredSample stored = std::move(
        sample_stores_in_ref(truncate_loops(graph, root, kWork), inputs, variables, kMostElements).value_or_throw());
    const CompareOptions compare{.tolerance = repro_.options.compare.tolerance};
    auto arrays = std::move(
        compare_outputs(repro_.input_graph.root, stored.values, repro_.expected_elements(stored.flat_indices), compare)
            .value_or_throw());
    return {
        std::ranges::all_of(arrays, &Comparison::has_passed) ? KernelOutcome::Kind::Passes : KernelOutcome::Kind::Fails,
        {}};
  });
  return done ? *done : refused_outcome(done.diag());
}

Result<Executable> BisectExecutor::make_executable(std::span<const UOp> list) const {
  const Placement& place = repro_.placement;
  return place.is_ref ? Executable::make_for_ref(list)
                      : Executable::make_for_device(list, *place.target, *place.device);
}

KernelOutcome BisectExecutor::run_linear_list(std::span<const UOp> list) {
  auto kernel = make_executable(list);
  if (!kernel) return refused_outcome(kernel.diag());
  const std::string source = kernel->source().text;
  if (auto it = known_outcomes_.find(source);
      !source.empty() && it != known_outcomes_.end() && it->second.num_requests++ > 0)
    return it->second.outcome;
  KernelOutcome out = run_kernel(*kernel, *repro_.placement.device);
  if (!source.empty()) known_outcomes_.try_emplace(source, out);
  return out;
}

KernelOutcome BisectExecutor::run_kernel(Executable& kernel, Device& device) {
  const RunOptions& o = repro_.options;
  // A variable without a value is a placeholder that the graph still has, because its substitution was suppressed.
  if (auto variable_arguments = kernel.variable_arguments(o.input.variables); !variable_arguments)
    return refused_outcome(variable_arguments.diag());
  bisect_counts_.num_runs++;
  const DeadlineScope trial(o.device.trial_seconds());
  const Arrays inputs = repro_.inputs_for_kernel(kernel);
  return compare_execution(o.device.should_use_sanitizer
                           ? execute_with_sanitizer(kernel, inputs, o.input.variables, repro_.execute_options())
                           : execute_kernel(kernel, device, inputs, o.input.variables, repro_.execute_options()));
}

KernelOutcome BisectExecutor::compare_execution(const Result<ExecutionResult>& done) {
  if (!done)
    return {is_invalid_source(done.diag()) ? KernelOutcome::Kind::Refused : KernelOutcome::Kind::Dies, done.diag()};
  const RunOptions& o = repro_.options;
  const Arrays& expected = repro_.arrays.expected;
  const KnownElements& known = repro_.arrays.known_elements;
  auto sample = catch_failures([&] { return selected_elements(done->outputs, known); });
  if (!sample) return {KernelOutcome::Kind::Fails, sample.diag()};  // a wrong rewrite made an array too small
  const Arrays& actual = known.empty() ? done->outputs : *sample;
  auto arrays = compare_outputs(repro_.input_graph.root, actual, expected, o.compare);
  if (!arrays) return {KernelOutcome::Kind::Fails, arrays.diag()};
  auto wrong = std::ranges::find_if_not(*arrays, &Comparison::has_passed);
  if (wrong == arrays->end()) return {};
  const KernelOutcome fails{KernelOutcome::Kind::Fails, {.message = wrong->text().substr(0, wrong->text().find('\n'))}};
  // Compare again without the elements that depend on rounding, if that is cheap.
  const bool can_recheck = may_depend_on_rounding_ && repro_.is_small && repro_.input_graph.list.empty();
  if (!can_recheck || !is_recheck_cheap(repro_.input_graph.root, *arrays)) return fails;
  const ReferenceRunner ref(repro_.arrays.inputs, o.input.variables);
  arrays = ref.compare_arrays(repro_.input_graph.root, actual, expected, o.compare);
  if (arrays && std::ranges::all_of(*arrays, &Comparison::has_passed)) {
    bisect_counts_.update_element_counts(*arrays);
    return {};
  }
  may_depend_on_rounding_ =
      arrays && std::ranges::any_of(*arrays, [](auto& c) { return c.num_left_out || c.is_recheck_incomplete; });
  return fails;
}

Result<ExecutionResult> BisectExecutor::run_on_device(std::span<const UOp> list, const Arrays& more) {
  throw_if_cancelled();
  auto kernel = make_executable(list);
  if (!kernel) return kernel.diag();
  bisect_counts_.num_runs++;
  return execute_kernel(*kernel, *repro_.placement.device, repro_.inputs_for_kernel(*kernel, more),
                        repro_.options.input.variables, repro_.execute_options());
}

Result<ExecutionResult> BisectExecutor::run_in_ref(std::span<const UOp> list, const Arrays& more) {
  throw_if_cancelled();
  auto kernel = Executable::make_for_ref(list);
  if (!kernel) return kernel.diag();
  bisect_counts_.num_runs++;
  return repro_.run_in_ref(*kernel, repro_.inputs_for_kernel(*kernel, more));
}

bool BisectExecutor::device_matches_ref(std::span<const UOp> list, const Arrays& more) {
  auto actual = run_on_device(list, more), expected = run_in_ref(list, more);
  if (!actual || !expected) return false;
  auto arrays = compare_outputs(repro_.input_graph.root, actual->outputs, expected->outputs);
  return arrays && std::ranges::all_of(*arrays, &Comparison::has_passed);
}

bool BisectExecutor::does_ref_agree() {
  if (does_ref_agree_) return *does_ref_agree_;
  const std::span<const UOp> list = observed_run().linear_list;
  const bool is_unknown =
      !repro_.is_small || !repro_.test_command.empty() || list.empty() || !Executable::make_for_ref(list);
  if (repro_.placement.is_ref || is_unknown || observed_run().outcome.is_refused()) does_ref_agree_ = true;
  else if (observed_run().outcome.kind == KernelOutcome::Kind::Dies) does_ref_agree_ = !run_in_ref(list);
  else does_ref_agree_ = device_matches_ref(list);
  return *does_ref_agree_;
}

}  // namespace tgc
