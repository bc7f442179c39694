#include "lib/bisect/bisect.h"

#include <algorithm>
#include <cstdlib>

#include "lib/bisect/failing_kernel.h"
#include "lib/bisect/recorded.h"
#include "lib/bisect/strategies.h"
#include "lib/compilation/input_graph.h"
#include "lib/driver/recorded_facts.h"
#include "lib/driver/source.h"
#include "lib/records/read_graph.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/run/run_options.h"
#include "lib/support/deadline.h"
#include "lib/text/pyrender.h"
#include "lib/validate/kernel_inputs.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {
namespace {

constexpr const char* kOneKernelHint = "one of its kernels as the input: FILE#ID or --kernel=N";

using Kind = Verdict::Kind;
using Strategy = std::optional<Verdict>(const FailureRepro& repro, BisectExecutor& executor);

// Returns nullopt if the input is no linear list.
std::optional<Verdict> check_linear_list(const FailureRepro& repro, BisectExecutor& executor) {
  if (repro.linear_list.empty()) return std::nullopt;
  if (executor.first_outcome().passes()) return Verdict{Kind::Same};
  return Verdict{Kind::Unresolved, "a linear list has no rewrites: " + executor.first_outcome().error()};
}

std::optional<Verdict> check_no_failure(const FailureRepro&, BisectExecutor& executor) {
  if (!executor.first_outcome().passes() || !executor.observed_run().outcome.passes()) return std::nullopt;
  return Verdict{Kind::Same};
}

std::optional<Verdict> check_input_graph(const FailureRepro& repro, BisectExecutor& executor) {
  if (executor.observed_run().outcome.is_refused() || repro.is_expected_by_ref) return std::nullopt;
  const KernelOutcome graph = executor.run_graph(repro.input_graph.root);
  if (graph.passes() || graph.is_refused()) return std::nullopt;
  return Verdict{Kind::Unresolved, "the input graph itself fails in REF, before any rewrite: the graph or the expected "
                                   "values are wrong"};
}

std::optional<Verdict> check_flaky(const FailureRepro&, BisectExecutor& executor) {
  if (!executor.is_flaky()) return std::nullopt;
  return Verdict{Kind::Flaky, executor.failing_or_passing_outcome().error()};
}

std::optional<Verdict> report_unresolved(const FailureRepro& repro, BisectExecutor& executor) {
  Verdict out{Kind::Unresolved, executor.observed_run().outcome.error()};
  if (const StageRun* stage = first_wrong_stage(repro, executor)) out.stage = stage->row->name;
  return out;
}

// The first verdict that a strategy returns is the result.
constexpr Strategy* kStrategies[] = {
    find_kernel_fault,
    find_hazard_between_iterations,
    check_linear_list,
    check_no_failure,
    check_input_graph,
    find_double_end,
    find_endless_rewrite,
    find_wrong_shortcut,
    evaluate_rewrites,
    veto_rewrites,
    name_unproven_rewrite,
    check_flaky,
    search_rewrites,
    find_refusal,
    bisect_backend,
    report_unresolved,
};

// With --repro, also writes the repro bundle of a kernel that fails.
void bisect_kernel(const FailureRepro& repro, bool may_crash, BisectReport& report) {
  BisectExecutor executor(repro, report.counts);
  std::optional<Verdict> verdict;
  if (!repro.test_command.empty()) verdict = search_by_command(repro, executor);
  else if (may_crash && repro.kernel_fault.empty()) verdict = find_compiler_crash(repro, executor);
  for (Strategy* strategy : kStrategies) {
    if (verdict) break;
    verdict = strategy(repro, executor);
    const KernelOutcome failure = executor.failing_or_passing_outcome();
    report.failure_text = failure.error().substr(0, failure.error().find('\n'));
  }
  report.verdict = std::move(*verdict);
  if (executor.failing_or_passing_outcome().passes()) return;
  if (report.verdict.detail.empty()) report.verdict.detail = executor.observed_run().comparison_error;
  if (repro.options.output.repro_path.empty()) return;
  report.repro_command =
      "tgc bisect " +
      quote_for_shell(write_bundle(repro, executor.failing_or_passing_outcome(), report.failure_text, report.verdict)) +
      repro.session.overrides.other_options;
}

// Returns the record with the id `id`, or else the only record, of the INPUT `against`.
Result<std::shared_ptr<const GoldenRecord>> load_reference_record(const Session& session, const std::string& against,
                                                                  const std::string& id) {
  auto source = GraphSource::open(session, against);
  if (!source) return source.diag();
  std::vector<std::shared_ptr<const GoldenRecord>> all;
  for (;;) {
    auto next = source->next_graph();
    if (!next) return next.diag();
    if (!*next) break;
    if (!(*next)->record || (*next)->is_tensor_graph)
      return Diag{.message = "--against=" + against + " is no golden record of a kernel", .expected = "golden records"};
    if ((*next)->record->id == id) return (*next)->record;
    all.push_back((*next)->record);
  }
  if (all.size() == 1) return all[0];
  return Diag{.message = "no record '" + id + "' to be against", .file = against, .expected = "FILE#ID"};
}

// Returns true if tgc should reproduce the record's texts of stages exactly.
bool should_match_recording(const Session& session, const InputGraph& in) {
  const char* fault = std::getenv("TGC_FAULT");
  return in.record && detect_input_kind(in.record->ast) != InputKind::Json &&
         !session.overrides.changes_compilation() && !(fault && *fault);
}

void bisect_divergence(const Session& session, InputGraph& in, const RunOptions& options, const BisectPlan& plan,
                       BisectReport& report) {
  std::optional<Verdict> verdict;
  std::string more_options = repeated_options(session, options, in, Placement());
  if (!plan.tinygrad_command.empty()) {
    in.info.target = session.target_for_input(in);
    if (!session.overrides.opts.empty())
      in.root = sink_with_opts(in.root, read_opts(*in.graph, session.overrides.opts, "--opts").value_or_throw());
    TinygradProcess tinygrad(plan.tinygrad_command, session.cancel_check());
    verdict = find_divergence(session, in, tinygrad, "");
    report.device = in.info.target;
    more_options += " --tinygrad=" + quote_for_shell(plan.tinygrad_command);
  } else {
    auto record = std::move(load_reference_record(session, plan.golden_input, in.info.name).value_or_throw());
    verdict = find_divergence(session, in, *record);
    report.device = record->target;
    more_options += " --against=" + quote_for_shell(plan.golden_input);
  }
  report.verdict = verdict ? std::move(*verdict) : Verdict{Kind::Same, "tgc compiles it as tinygrad does"};
  report.repro_command = bisect_command(options, more_options);
}

// Throws Failure, which suggests `instead`, if an option asks for a search that is not possible for `what`.
void check_plan(const BisectPlan& plan, const Session& session, const InputGraph& in, const std::string& what,
                const std::string& instead) {
  const std::pair<const char*, bool> searches[] = {{"--tinygrad", !plan.tinygrad_command.empty()},
                                                   {"--against", !plan.golden_input.empty()},
                                                   {"--cmd", !plan.test_command.empty()},
                                                   {"--crash", plan.may_crash},
                                                   {"--from", !session.overrides.start_stage.empty()}};
  for (auto& [name, is_set] : searches)
    if (is_set)
      throw Failure(
          Diag{.message = std::string(name) + " has no effect on " + what, .file = in.file, .expected = instead});
}

void check_recorded(const Session& session, const InputGraph& in, const RunOptions& options, const BisectPlan& plan) {
  const std::string& producer = import_facts_of_input(in).producer;
  if (!in.record)
    throw Failure(Diag{.message = "a graph of " + producer + " without recorded stages",
                       .file = in.file,
                       .expected = "a recording of tinygrad_export.py --rewrites, or --native"});
  check_plan(plan, session, in, "the recorded kernel '" + in.info.name + "'", "--native");
  check_options_honoured(RunTask::BisectRecorded, options, in).value_or_throw();
  if (!options.device.name.empty()) placement_for(session, options.device.name, in).value_or_throw();
}

// Calls work(session, report) in a session with a time limit of `seconds` (0: no limit). Catches what catch_failures()
// catches: the report then has the error or, if the session was cancelled, the verdict Unresolved.
template <class Work>
BisectReport run_with_report(const Session& whole, double seconds, const std::string& name, Work work) {
  BisectReport report{.kernel = name};
  Session session = whole;
  CancelRequest limit(whole.cancel, seconds);
  if (seconds > 0) session.cancel = &limit;
  auto begin = Clock::now();
  auto done = catch_failures([&] { return work(session, report), Unit{}; });
  report.wall_seconds = seconds_since(begin);
  if (done) return report.note_left_out_elements(), report;
  if (session.is_cancelled()) report.verdict = {Kind::Unresolved, "stopped before a culprit was found"};
  else report.error = done.diag().text();
  return report;
}

// `whole` is the tensor graph, from which the repro command is made; it is empty for a model.
void bisect_kernels(const InputGraph& whole, ModelRepro repro, BisectReport& report) {
  const Session& session = repro.session;
  RunOptions options = repro.options;
  repro.options.output.repro_path = "";  // write a bundle only of the failing kernel, not of runs of the whole model
  FailingKernelFinder finder(session);
  RunOptions watched = repro.options;
  watched.compare.reference_device = "none";
  watched.model.before_kernel = [&](const ScheduledKernelRun& step) { finder.begin_kernel(step); };
  watched.model.on_kernel = [&](const ScheduledKernelRun& step) { finder.end_kernel(step); };
  ModelOutcome outcome{.report = repro.run(watched)};
  const ModelReport& model = outcome.report;
  report.device = model.device, report.counts.num_runs = finder.num_compared();
  options.device.name = model.device_option;
  report.repro_command = bisect_command(options, repeated_options(session, options, whole, Placement()));
  if (!finder.found_kernel() && !model.error.empty()) finder.keep_unfinished_kernel();
  FailingKernel* kernel = finder.found_kernel();
  if (!kernel) {
    outcome.num_compared_kernels = finder.num_compared(), outcome.kernel_fault = finder.kernel_fault();
    auto verdict = check_schedule(repro, outcome, report.counts);
    if (!verdict) throw Failure(model.error);
    report.verdict = std::move(*verdict);
    report.counts.set_element_counts(finder.element_counts());
    return;
  }
  options.input.variables = kernel->variables;
  options.input.arrays_file = options.compare.expected_file = options.compare.reference_device = "";
  FailureRepro failing = begin_repro(session, kernel->graph, options);
  failing.arrays = std::move(kernel->arrays);
  failing.is_expected_by_ref = true, failing.is_small = failing.arrays.known_elements.empty();
  report.device = failing.device();
  report.origin_text = kernel->graph.user_operation;
  report.kernel += ", kernel " + std::to_string(kernel->kernel_number) + " (" + kernel->graph.info.name + ")";
  bisect_kernel(failing, false, report);
}

}  // namespace

BisectReport bisect(const Session& whole, InputGraph& in, const RunOptions& options, const BisectPlan& plan) {
  const std::string name = in.info.name.empty() ? "kernel" : in.info.name;
  return run_with_report(whole, plan.limit_seconds, name, [&](const Session& session, BisectReport& report) {
    report.is_strict = plan.is_strict, report.origin_text = in.user_operation;
    if (auto& refused = import_facts_of_input(in).import_error) throw Failure(*refused);
    if (is_imported(in) && !session.overrides.uses_native_pipeline) {
      check_recorded(session, in, options, plan);
      report.device = "REF";
      report.repro_command = bisect_command(options, repeated_options(session, options, in, Placement()));
      check_is_runnable(in).value_or_throw();
      if (const VariableValues& given = options.input.variables; !given.empty()) {
        const Executable ast = std::move(Executable::make_for_ref(in.root).value_or_throw());
        report.variables = bound_variables(ast, given);
        if (options.input.is_only_kernel) check_variables(ast, given).value_or_throw();
      }
      report.verdict = bisect_recorded(session, in, options, report, {.should_confirm_verdict = true});
      return;
    }
    if (!plan.golden_input.empty() || !plan.tinygrad_command.empty())
      return bisect_divergence(session, in, options, plan, report);
    RunOptions own = options_with_bundle(options, in);
    FailureRepro begun = begin_repro(session, in, own);
    report.device = begun.device();
    report.repro_command =
        bisect_command(begun.options, repeated_options(session, begun.options, in, begun.placement)) +
        (plan.test_command.empty() ? "" : " --cmd=" + quote_for_shell(plan.test_command));
    begun.test_command = plan.test_command;
    if (!plan.test_command.empty()) return bisect_kernel(begun, false, report);
    FailureRepro repro = add_expected_results(std::move(begun));
    report.variables = repro.variables;
    bisect_kernel(repro, plan.may_crash, report);
    if (report.verdict.kind != Kind::Same || plan.may_crash) return;
    own.output.failures_folder.clear();
    const RunReport more = run_kernel(session, in, own);
    const bool at_bound =
        std::ranges::any_of(more.variable_values, [](auto& v) { return v.second.value_source.starts_with("the "); });
    if (more.result() == RunReport::Result::Failed && (at_bound || more.input_set != InputSet::Usual)) {
      own.input.variables = chosen_values_of(more.variable_values);
      own.input.input_set = more.input_set;
      if (more.input_set != InputSet::Usual) own.compare.should_accept_rounding = true;
      return bisect_kernel(add_expected_results(begin_repro(session, in, own)), false, report);
    }
    // If only a sample of the elements was compared, bisect again with all elements. If no failure was found, compare
    // the kernel's stages with those of its golden record.
    if (auto complete = add_all_expected_elements(std::move(repro))) bisect_kernel(*complete, false, report);
    if (report.verdict.kind == Kind::Same && should_match_recording(session, in))
      if (auto verdict = find_divergence(session, in, *in.record)) report.verdict = std::move(*verdict);
  });
}

BisectReport bisect_model(const Session& whole, const std::string& path, const RunOptions& options,
                          const BisectPlan& plan) {
  return run_with_report(whole, plan.limit_seconds, path, [&](const Session& session, BisectReport& report) {
    check_plan(plan, session, InputGraph(), "the model '" + path + "'", kOneKernelHint);
    auto run = [&](const RunOptions& o) { return run_model(session, path, o); };
    bisect_kernels(InputGraph(), {session, options, run}, report);
  });
}

BisectReport bisect_tensor_graph(const Session& whole, InputGraph& in, const RunOptions& options,
                                 const BisectPlan& plan) {
  return run_with_report(whole, plan.limit_seconds, in.info.name, [&](const Session& session, BisectReport& report) {
    check_plan(plan, session, in, "the tensor graph '" + in.info.name + "'", kOneKernelHint);
    report.is_schedule = in.record != nullptr;
    if (in.graph->is_foreign()) return bisect_recorded_schedule(session, in, options, report);
    auto run = [&](const RunOptions& o) { return run_tensor_graph(session, in, o); };
    bisect_kernels(in, {session, options, run}, report);
  });
}

}  // namespace tgc
