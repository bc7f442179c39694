#include "lib/run/run_recorded_schedule.h"

#include "lib/run/honoured_options.h"
#include "lib/run/recorded_run.h"

namespace tgc {

ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage) {
  ModelReport report{.model = in.info.name, .is_schedule = in.record != nullptr};
  if (in.record) report.kernel_ids = kernel_ids_text(*in.record);
  std::vector<VariableValues> more;
  auto done = catch_failures([&] {
    check_honoured(finds_stage ? RunTask::BisectSchedule : RunTask::RunSchedule, options, in).value_or_throw();
    RecordedRun run(session, in, options, report, finds_stage);
    run.run();
    more = run.more_values();
    run.run_on_whole_numbers();
    run.run_on_all_sizes();
    return Unit{};
  });
  if (!done) {
    report.error = done.diag().text(), report.kernel_fault = done.diag().kernel_fault;
    report.ran.values.clear();  // without names
  }
  if (!only_compares_with_ref(options) || report.result() != RunReport::Result::Passed) more.clear();
  for (const VariableValues& values : more) {
    RunOptions other = options;
    other.input.variables = values;
    ModelReport again{.model = report.model, .is_schedule = report.is_schedule, .kernel_ids = report.kernel_ids};
    auto ran = catch_failures([&] { return RecordedRun(session, in, other, again, finds_stage).run(), Unit{}; });
    // A failure convicts nothing: the bounds of a program may be wider than the values that it can have.
    if (!ran || again.result() != RunReport::Result::Passed) continue;
    std::string text;
    for (auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
    report.also_tried.push_back(std::move(text));
  }
  return report;
}

}  // namespace tgc
