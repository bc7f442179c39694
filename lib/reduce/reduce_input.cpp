#include "lib/bisect/failing_kernel.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/reduce/reduce.h"
#include "lib/run/repro_bundle.h"
#include "lib/run/repro_command.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

namespace {

// Reduces the first kernel whose results differ from those of REF on the same arrays. run() runs all kernels of the
// input.
ReduceReport reduce_first_wrong_kernel(const Session& session, const RunOptions& options,
                                       const FailureCriterion& criterion,
                                       const std::function<ModelReport(const RunOptions&)>& run) {
  FailingKernelFinder finder(session);
  RunOptions watched = options;
  watched.compare.reference_device = "none";
  watched.model.on_kernel = [&](const ScheduledKernelRun& step) { finder.end_kernel(step); };
  ModelReport model = run(watched);
  FailingKernel* kernel = finder.found_kernel();
  if (!kernel && !model.error.empty())
    return {.error = "it is not 'wrong': " + model.error +
                     "\n  what dies, or is refused, is reduced with --while=crash, compile, refused or endless"};
  if (!kernel)
    return {.error =
                "each of its " + std::to_string(finder.num_compared()) + " kernels makes of its arrays what REF does"};
  session.report_note("kernel " + std::to_string(kernel->kernel_number) + " (" + kernel->graph.info.name + ")");
  auto arrays = std::make_shared<Repro>();
  arrays->device = model.device_option;
  arrays->inputs = arrays_to_bundle(kernel->arrays.inputs), arrays->variables = kernel->variables;
  kernel->graph.read_report.repro = std::move(arrays);
  RunOptions of_kernel = options;
  of_kernel.input.arrays_file.clear(), of_kernel.compare.expected_file.clear(),
      of_kernel.compare.reference_device.clear();
  return reduce_graph(session, kernel->graph, of_kernel, criterion);
}

ReduceReport reduce_first_failing_kernel(const Session& session, InputGraph& in, const RunOptions& options,
                                         const FailureCriterion& criterion) {
  auto whole = session.begin(std::move(in));
  if (!whole) return {.error = whole.diag().text()};
  if (auto& schedule = whole->schedule(); !schedule) return {.error = schedule.diag().text()};
  for (size_t number : whole->kernel_numbers()) {
    auto compilation = whole->kernel(number);
    if (!compilation) return {.error = compilation.diag().text()};
    session.report_progress("kernel " + std::to_string(number));
    InputGraph kernel = std::move(*compilation).take_input();
    ReduceReport report = reduce_graph(session, kernel, options, criterion);
    if (report.error.empty() || session.is_cancelled()) return report;
  }
  return {.error = "none of its kernels, alone and with arrays of its own, shows that"};
}

ReduceReport measure_reduction(const std::function<ReduceReport()>& work) {
  auto begin = Clock::now();
  auto report = catch_failures(work);
  if (!report) return {.error = report.diag().text()};
  report->wall_seconds = seconds_since(begin);
  return std::move(*report);
}

}  // namespace

ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options,
                          const FailureCriterion& criterion) {
  if (!session.compiler()->can_compile(in)) {
    auto pipeline = session.pipeline(in);
    if (!pipeline) return {.error = pipeline.diag().text()};
    if (in.is_tensor_graph && !(*pipeline)->has_ability(Ability::Specification))
      return {.error = (*pipeline)->missing_ability_error(Ability::Compile, "reduce").text() +
                       "; `tgc bisect` names the rule, and reduce takes a kernel, with --live=PYTHON"};
    const bool needs_none = in.is_tensor_graph || criterion.kind == FailureSignature::Kind::Script;
    if (auto status = (*pipeline)->require_ability(Ability::LeaveOut, "reduce"); !status && !needs_none)
      return {.error = status.diag().text()};
  }
  if (!in.is_tensor_graph) return reduce_graph(session, in, options, criterion);
  return measure_reduction([&] {
    if (criterion.kind != FailureSignature::Kind::Wrong)
      return reduce_first_failing_kernel(session, in, options, criterion);
    return reduce_first_wrong_kernel(session, options, criterion,
                                     [&](const RunOptions& watched) { return run_tensor_graph(session, in, watched); });
  });
}

ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const FailureCriterion& criterion) {
  return measure_reduction([&]() -> ReduceReport {
    if (criterion.kind == FailureSignature::Kind::Wrong)
      return reduce_first_wrong_kernel(session, options, criterion,
                                       [&](const RunOptions& watched) { return run_model(session, path, watched); });
    auto source = std::move(GraphSource::open(session, path).value_or_throw());
    auto graph = std::move(source.next_graph().value_or_throw());
    if (!graph) return {.error = "there is no graph in " + path};
    return reduce_first_failing_kernel(session, *graph, options, criterion);
  });
}

Result<FailureCriterion> parse_criterion(const std::string& text) {
  using Kind = FailureSignature::Kind;
  if (text.starts_with("cmd ")) {
    if (auto status = check_takes_file("--while=" + text, text); !status) return status.diag();
    return FailureCriterion{Kind::Script, text.substr(4)};
  }
  for (auto kind : {Kind::Wrong, Kind::Crash, Kind::Differs, Kind::Endless, Kind::Refused, Kind::Compile})
    if (text == name_of(kind)) return FailureCriterion{kind, ""};
  return Diag{.message = "--while=" + text + " is unknown",
              .expected = "wrong, crash, differs, endless, refused, compile, or 'cmd SCRIPT {}'"};
}

std::string ReduceReport::text() const {
  std::string looked = num_prefiltered ? " (" + std::to_string(num_prefiltered) + " candidates prefiltered)" : "";
  return formatted("%zu nodes of %zu, after %zu %s%s in %.2f s%s\n", num_nodes_after, num_nodes_before, num_calls,
                   num_calls == 1 ? "try" : "tries", looked.c_str(), wall_seconds,
                   was_interrupted ? "; interrupted, the best so far" : "") +
         "  still " + verdict + "\n";
}

std::string ReduceReport::json() const {
  return json_object([&](JsonWriter& json) {
           if (!error.empty()) return (void)json.member("error", error);
           json.key("before").object([&] { json.member("nodes", num_nodes_before); });
           json.key("after").object([&] { json.member("nodes", num_nodes_after); });
           json.member("calls", num_calls)
               .member("glances", num_prefiltered)
               .key("seconds")
               .number(wall_seconds, "%.3f");
           json.member("verdict", verdict);
           if (was_interrupted) json.member("interrupted", true);
         }) +
         "\n";
}

}  // namespace tgc
