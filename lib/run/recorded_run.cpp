#include "lib/run/recorded_run.h"

#include <algorithm>
#include <cmath>

#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/support/deadline.h"
#include "lib/validate/hazard.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

// UOps that REF evaluates for a kernel; larger kernels are not searched for hazards
constexpr double kMostWork = 3e8;
// UOps that REF evaluates for a schedule; larger schedules do not run with inputs of all sizes
constexpr double kSmall = 4e6;
constexpr double kMoreSeconds = 1;       // minimum time limit, in seconds, of runs with other inputs
constexpr int64_t kEnoughElements = 64;  // a schedule whose arrays are smaller may run several times
constexpr int64_t kMostTurns = 8;

bool has_only_numbers(const Array& array) {
  if (!dtypes::is_float(array.dtype())) return true;
  for (int64_t i = 0; i < array.size(); i++)
    if (!std::isfinite(element_as_double(array, i))) return false;
  return true;
}

}  // namespace

void RecordedRun::run_record() {
  auto begin = Clock::now();
  graph_.read_record();
  if (graph_.schedule) check_kernel_order();
  report_.build_seconds = seconds_since(begin);
  graph_.draw_buffers();
  graph_.check_array_names();
  // one run of the graph, and one of the kernels or of each stage
  graph_runner_.choose_place(1 + (graph_.schedule ? 1 : graph_.input_graph.record->stages.size()));
  begin = Clock::now();
  SlotArrays actual;
  if (graph_.schedule) {
    graph_.session.report_progress("the kernels of " + graph_.input_graph.info.name);
    auto ran = catch_failures([&] { return graph_runner_.run_recorded_kernels(); });
    if (!ran && !(should_find_stage_ && ran.diag().is_kernel_fault)) throw Failure(ran.diag());
    if (!ran) return find_faulty_stage(ran.diag());
    actual = std::move(*ran);
  }
  report_.total_seconds = seconds_since(begin);
  if (graph_.options.compare.reference_device == "none") return report_arrays(actual, {}), save_arrays();
  graph_.session.report_progress("the tensor graph of " + graph_.input_graph.info.name);
  report_.reference = graph_runner_.name_of_reference();
  RecordedComparison comparison(graph_, graph_runner_, not_compared_slots_);
  compare_results(comparison, actual);
  not_decided_slots_ = comparison.not_decided_slots();
  const bool differs = !std::ranges::all_of(report_.comparisons, &Comparison::has_passed);
  if (graph_.schedule && (!differs || !report_.stage_difference || report_.stage_difference->stage.empty()))
    find_hazard_in_kernels(differs);
  const bool no_stage_changes = report_.stage_difference && !report_.stage_difference->num_stages_run &&
                                report_.stage_difference->refused_stages.empty();
  report_.has_no_stores = !graph_.schedule && (graph_.reference.program.outputs.empty() || no_stage_changes);
  report_arrays(actual, comparison.expected_arrays());
  save_arrays();
  if (report_.result() == RunReport::Result::Failed && !graph_.options.output.failures_folder.empty())
    save_failure_arrays(actual, comparison.expected_arrays());
}

void RecordedRun::check_kernel_order() {
  const DeadlineScope limit(graph_.options.device.trial_seconds());
  report_.order_report =
      check_order(graph_.session, *graph_.input_graph.record, graph_.release, *graph_.schedule, graph_.parameters);
  not_compared_slots_ = add_order_notes(report_.order_report, *graph_.schedule, report_.notes);
}

void RecordedRun::compare_results(RecordedComparison& comparison, const SlotArrays& actual, bool is_finite) {
  comparison.compute_expected_arrays();
  if (is_finite &&
      !std::ranges::all_of(comparison.expected_arrays(), [](auto& e) { return has_only_numbers(e.second); }))
    throw Failure("the graph has no meaning for these floats");
  if (!graph_.options.compare.expected_file.empty()) comparison.read_expected_arrays();
  comparison.find_invalid_values();
  if (graph_.schedule) report_.comparisons = comparison.compare_arrays(actual);
  const bool differs = !std::ranges::all_of(report_.comparisons, &Comparison::has_passed);
  if (graph_.options.compare.should_run_each_stage || !graph_.schedule || (differs && should_find_stage_))
    compare_stages(comparison, differs);
}

void RecordedRun::compare_stages(RecordedComparison& comparison, bool is_wrong) {
  StageDifference out;
  std::vector<Comparison> last, wrong;
  std::set<std::string> names;
  std::vector<std::string> doubtful;  // stages that differ since the last right one
  for (const GoldenStage& stage : graph_.input_graph.record->stages) {
    const std::string* text = text_of_stage(stage);
    // a second stage of the same name is a stage of another function, whose PARAMs are unknown
    if (!names.insert(stage.name).second || !text) continue;
    graph_.session.report_progress("the stage '" + stage.name + "' of " + graph_.input_graph.info.name);
    auto read = read_tensor_stage(graph_.session, *graph_.input_graph.record, graph_.release, graph_.parameters, *text,
                                  stage.name);
    if (read) graph_.draw_missing_buffers(*read);
    auto arrays = read ? graph_runner_.run_graph_variant(*read, true) : Result<SlotArrays>(read.diag());
    if (arrays && arrays->empty()) continue;
    std::vector<Comparison> compared;
    if (arrays) {
      auto done = catch_failures(
          [&] { return comparison.compare_arrays(*arrays, std::ranges::count(read->output_slots, -1) == 0); });
      if (done) compared = std::move(*done);
      else arrays = done.diag();
    }
    if (!arrays && arrays.diag().is_kernel_fault) {
      out.num_stages_run++;
      doubtful.push_back(stage.name);
      continue;
    }
    if (!arrays) {
      out.refused_stages.push_back(stage.name + ": " + arrays.diag().message);
      continue;
    }
    out.num_stages_run++;
    if (std::ranges::all_of(compared, &Comparison::has_passed)) {
      for (const std::string& name : doubtful) add_import_note(name);
      doubtful.clear();
      out.last_right_stage = stage.name, last = std::move(compared);
      continue;
    }
    if (doubtful.empty()) wrong = compared;
    doubtful.push_back(stage.name);
  }
  if (graph_.schedule && !is_wrong) {
    for (const std::string& name : doubtful) add_import_note(name);
  } else if (!doubtful.empty()) {
    out.stage = doubtful[0], out.comparisons = std::move(wrong);
  }
  if (out.comparisons.empty() && std::ranges::any_of(last, [](auto& c) { return c.num_left_out > 0; }))
    out.comparisons = last;
  if (!graph_.schedule) report_.comparisons = std::move(last);
  report_.stage_difference = std::move(out);
}

void RecordedRun::find_faulty_stage(const Diag& fault) {
  report_.error = fault.text(), report_.is_kernel_fault = true;
  RecordedComparison comparison(graph_, graph_runner_, not_compared_slots_);
  comparison.compute_expected_arrays();
  compare_stages(comparison, true);
}

// A scheduler must not put a store and a read into one kernel if other iterations of the store change what is read.
// Arguments of a kernel may be parts of one buffer. REF may load for all iterations before it stores, so right results
// do not prove that there is no hazard. If the results are right, a loop of a few iterations is no fault if the read is
// through the argument of the store: tinygrad unrolls such loops, and its counters of random numbers rely on this.
void RecordedRun::find_hazard_in_kernels(bool differs) {
  const Schedule& schedule = graph_.schedule->kernels.schedule;
  for (size_t k = 0; k < schedule.items.size() && report_.hazard_text.empty(); k++) {
    const ScheduleItem& item = schedule.items[k];
    if (!item.ast.is(Op::SINK) || work_of(item.ast) > kMostWork) continue;
    VariableValues variables(item.fixed_vars.begin(), item.fixed_vars.end());
    variables.insert(schedule.var_vals.begin(), schedule.var_vals.end());
    std::vector<ArgumentPlace> places;
    for (size_t number : item.buffers) {
      const ScheduleBuffer& b = schedule.buffers[number];
      places.push_back({b.view_of.value_or(number), b.offset_bytes});
    }
    constexpr int64_t kUnrolled = 4;  // a loop with more iterations counts as not unrolled
    auto hazard = find_hazard(item.ast, variables, places, !differs);
    if (!hazard && !differs) {
      hazard = find_hazard(item.ast, variables, places);
      if (hazard && (!hazard->is_store_first || hazard->num_iterations <= kUnrolled)) hazard.reset();
    }
    if (!hazard) continue;
    const std::string text = "kernel " + std::to_string(k) + ": " + hazard->text();
    if (hazard->is_store_first || differs)
      report_.hazard_text = text, report_.wrong_kernels = {graph_.schedule->kernel_numbers[k]};
    else report_.notes.push_back(text + ", but is right in the order of the loops");
  }
}

void RecordedRun::add_import_note(const std::string& stage) {
  report_.notes.push_back("the graph after the stage '" + stage +
                          "' has other values, but what tinygrad made of it "
                          "is right: tgc's import of this stage is wrong");
}

std::pair<RunReport::Result, std::vector<Comparison>> RecordedRun::rerun_and_compare(const TensorArrays& usual_arrays,
                                                                                     std::string_view sizes,
                                                                                     bool is_finite) {
  auto outputs = std::exchange(report_.comparisons, {});
  auto stages = std::exchange(report_.stage_difference, {});
  auto ran = std::exchange(report_.schedule_result, {});
  const std::vector<std::string> notes = report_.notes;
  RecordedComparison comparison(graph_, graph_runner_, not_compared_slots_);
  auto done = catch_failures([&] {
    SlotArrays actual = graph_.schedule ? graph_runner_.run_recorded_kernels() : SlotArrays();
    compare_results(comparison, actual, is_finite);
    return actual;
  });
  const RunReport::Result result = done ? report_.result() : RunReport::Result::Trouble;
  if (result == RunReport::Result::Failed) {
    report_.input_set_note = sizes, report_.result_names.clear();
    report_arrays(*done, comparison.expected_arrays());
    if (!graph_.options.output.failures_folder.empty()) save_failure_arrays(*done, comparison.expected_arrays());
    return {result, report_.comparisons};
  }
  report_.comparisons.swap(outputs);
  report_.stage_difference = std::move(stages), report_.schedule_result = std::move(ran);
  report_.notes = notes, graph_.buffers = usual_arrays;
  return {result, std::move(outputs)};
}

bool RecordedRun::may_run_again() const {
  const std::string& device = graph_.options.device.name;
  const bool is_plain = is_ref_only_comparison(graph_.options) && (device.empty() || device == "REF") &&
                        !graph_.session.overrides.uses_native_pipeline;
  return is_plain && !graph_runner_.is_compiled() && !report_.has_no_stores && report_.seed &&
         report_.result() == RunReport::Result::Passed;
}

void RecordedRun::run_on_both_signs() {
  if (!graph_.float_distribution.has_unit_arrays() || !may_run_again()) return;
  const DeadlineScope limit(kMoreSeconds + 3 * report_.total_seconds);
  const TensorArrays usual_arrays = graph_.buffers;
  const InputDistribution floats = graph_.float_distribution;
  graph_.draw_buffers(FloatKind::Normal);
  const auto result = rerun_and_compare(usual_arrays, "", true).first;
  graph_.float_distribution = floats;
  if (result == RunReport::Result::Failed) report_.float_distribution = "of both signs";
  if (result == RunReport::Result::Passed) report_.float_distribution = floats.text() + ", and of both signs";
}

void RecordedRun::run_on_all_magnitudes() {
  if (!may_run_again() || graph_.estimated_work() > kSmall) return;
  const DeadlineScope limit(kMoreSeconds);
  int64_t most = graph_.schedule ? 1 : kEnoughElements;
  for (auto& [slot, array] : graph_.buffers) most = std::max(most, array->size());
  const TensorArrays usual_arrays = graph_.buffers;
  graph_runner_.run_in_this_process();
  auto result = RunReport::Result::Passed;
  for (int64_t turn = 0; turn < std::clamp(kEnoughElements / most, int64_t(1), kMostTurns); turn++) {
    if (!graph_.draw_all_magnitudes(uint64_t(turn))) return;
    result = rerun_and_compare(usual_arrays, name_of(InputSet::AllSizes)).first;
    if (result != RunReport::Result::Passed) return;
  }
  report_.input_set_note = "also " + std::string(name_of(InputSet::AllSizes));
}

void RecordedRun::run_on_whole_numbers() {
  const bool is_plain =
      is_ref_only_comparison(graph_.options) && report_.seed && !graph_.float_distribution.has_unit_arrays();
  if (not_decided_slots_.empty() || !is_plain || report_.result() == RunReport::Result::Failed) return;
  const TensorArrays usual_arrays = graph_.buffers;
  graph_.draw_whole_numbers();
  const auto [result, outputs] = rerun_and_compare(usual_arrays, "whole numbers");
  if (result == RunReport::Result::Failed) return;
  for (int64_t slot : not_decided_slots_) {
    const std::string name = array_name_of(slot);
    const auto decided = std::ranges::find(outputs, name, &Comparison::name);
    if (decided == outputs.end() || !decided->has_passed() || decided->num_left_out > 0) continue;
    std::erase_if(report_.notes, [&](const std::string& n) { return n.starts_with(name + " was not compared:"); });
    report_.notes.push_back(name + " was compared for whole numbers only: rounding decides many of its elements");
    report_.comparisons.push_back(*decided), report_.not_decided_elements.erase(name);
  }
}

void RecordedRun::find_wrong_kernels() {
  if (!graph_.schedule) return;
  const Schedule& schedule = graph_.schedule->kernels.schedule;
  std::set<size_t> wrong;
  for (auto& [slot, numbers] : graph_.schedule->buffer_numbers) {
    const auto compared = std::ranges::find(report_.comparisons, array_name_of(slot), &Comparison::name);
    if (compared != report_.comparisons.end() && !compared->has_passed()) wrong.insert(numbers.begin(), numbers.end());
  }
  for (size_t k = 0; k < schedule.items.size(); k++) {
    const auto accesses = accesses_of(schedule.items[k]);
    for (size_t i = 0; i < accesses.size(); i++) {
      const size_t number = schedule.items[k].buffers[i];
      if (accesses[i].is_written && wrong.contains(schedule.buffers[number].view_of.value_or(number)))
        report_.wrong_kernels.insert(graph_.schedule->kernel_numbers[k]);
    }
  }
}

void RecordedRun::report_arrays(const SlotArrays& actual, const SlotArrays& expected) {
  find_wrong_kernels();
  for (auto& [slot, array] : actual.empty() ? expected : actual) {
    if (!expected.empty() && !expected.contains(slot)) continue;
    report_.result_names.push_back(array_name_of(slot));
    report_.schedule_result.values.push_back(array.copy());
  }
}

void RecordedRun::save_failure_arrays(const SlotArrays& actual, const SlotArrays& expected) {
  auto named = [](const auto& arrays, auto get) {
    Arrays out;
    for (auto& [slot, array] : arrays) out.push_back({array_name_of(slot), get(array).copy()});
    return out;
  };
  Arrays inputs = named(graph_.buffers, [](auto& array) -> const Array& { return *array; });
  for (auto& [name, value] : graph_.parameters.variables.values_by_name) {
    Array number(dtypes::int64, {1});
    number.as<int64_t>()[0] = value;
    inputs.push_back({name, std::move(number)});
  }
  RunReport kept;
  auto same = [](auto& array) -> const Array& { return array; };
  save_failure(graph_.session, graph_.options, graph_.input_graph, graph_runner_.placement(), inputs,
               named(expected, same), named(actual, same), kept)
      .value_or_throw();
  report_.written_files = std::move(kept.written_files), report_.repeat_command = std::move(kept.repeat_command);
}

void RecordedRun::save_arrays() {
  if (graph_.options.output.save_path.empty()) return;
  Arrays arrays;
  for (size_t i = 0; i < report_.result_names.size(); i++)
    arrays.push_back({report_.result_names[i], report_.schedule_result.values[i].copy()});
  const RunOptions& options = graph_.options;
  auto path = reserve_path(options.output.save_path, options, graph_.input_graph.info.name,
                           is_recorded_in_file(graph_.input_graph));
  auto saved = write_npz(path.value_or_throw(), arrays);
  if (!saved && report_.result() != RunReport::Result::Failed) throw Failure(saved.diag());
  if (!saved) report_.not_saved_reason = saved.diag().text();
}

}  // namespace tgc
