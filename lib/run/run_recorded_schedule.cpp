#include "lib/run/run.h"

#include <algorithm>

#include "lib/contain/system.h"
#include "lib/run/recorded_run.h"
#include "lib/run/run_options.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

// Default time limits in seconds; kBusySeconds is that of the second attempt.
constexpr double kRunSeconds = 10, kBisectSeconds = 2, kBusySeconds = 60;

// True for a failed run in which no time was left to find out if rounding alone decides the wrong elements.
bool is_only_undecided_failure(const ModelReport& report) {
  return report.error.empty() && report.order_report.order_faults.empty() && report.hazard_text.empty() &&
         !report.comparisons.empty() && std::ranges::all_of(report.comparisons, [](const Comparison& c) {
           return c.has_passed() || c.is_recheck_incomplete;
         });
}

// Replaces the result of a record that was not compared because no time was left.
void report_no_time_left(ModelReport& report, double work) {
  const RunReport::Result result = report.result();
  if (!current_deadline().is_over() || report.is_kernel_fault || result == RunReport::Result::Passed) return;
  if (result == RunReport::Result::Failed && !is_only_undecided_failure(report)) return;
  const std::string size = work > 0 ? formatted(": REF evaluates about %.1g UOps for it", work) : std::string();
  report.error = Diag{.message = "the comparison " + out_of_time_error(current_deadline().limit_seconds).message + size,
                      .expected = "--timeout=S, which allows more time, or smaller arrays"}
                     .text();
  report.schedule_result.values.clear(), report.result_names.clear();
}

ModelReport run_within_time_limit(double seconds, const Session& session, const InputGraph& in,
                                  const RunOptions& options, bool finds_stage) {
  ModelReport report{.model = in.info.name, .is_schedule = in.record != nullptr};
  if (in.record) report.kernel_ids = kernel_ids_text(*in.record);
  const DeadlineScope whole(seconds);
  std::vector<VariableValues> more;
  double work = 0;
  auto done = catch_failures([&] {
    check_options_honoured(finds_stage ? RunTask::BisectSchedule : RunTask::RunSchedule, options, in).value_or_throw();
    RecordedRun run(session, in, options, report, finds_stage);
    auto ran = catch_failures([&] { return run.run_record(), Unit{}; });
    work = run.graph().estimated_work();
    ran.value_or_throw();
    more = run.graph().variable_choices();
    run.run_on_whole_numbers();
    run.run_on_both_signs();
    run.run_on_all_magnitudes();
    return Unit{};
  });
  if (!done) {
    report.error = done.diag().text(), report.is_kernel_fault = done.diag().is_kernel_fault;
    report.schedule_result.values.clear();
  }
  report_no_time_left(report, work);
  if (!is_ref_only_comparison(options) || report.result() != RunReport::Result::Passed) more.clear();
  for (const VariableValues& values : more) {
    RunOptions other = options;
    other.input.variables = values;
    ModelReport again{.model = report.model, .is_schedule = report.is_schedule, .kernel_ids = report.kernel_ids};
    auto ran = catch_failures([&] { return RecordedRun(session, in, other, again, finds_stage).run_record(), Unit{}; });
    // a failure is not reported, because the bounds of a variable may be wider than the values that occur
    if (!ran || again.result() != RunReport::Result::Passed) continue;
    std::string text;
    for (auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
    report.other_tried_values.push_back(std::move(text));
  }
  return report;
}

}  // namespace

ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage) {
  const double seconds = options.device.timeout_seconds.value_or(finds_stage ? kBisectSeconds : kRunSeconds);
  const double begin = processor_seconds();
  const auto begin_wall = Clock::now();
  ModelReport report = run_within_time_limit(seconds, session, in, options, finds_stage);
  const RunReport::Result result = report.result();
  if (options.device.timeout_seconds || seconds_since(begin_wall) < seconds || result == RunReport::Result::Passed)
    return report;
  // try again with more time if the record failed, or if this process got little processor time
  constexpr double kShare = 0.8;
  const bool is_large = processor_seconds() - begin > kShare * seconds;
  if (result != RunReport::Result::Failed && is_large) return report;
  return run_within_time_limit(kBusySeconds, session, in, options, finds_stage);
}

}  // namespace tgc
