// Runs a recorded schedule again, with inputs of all sizes.
#include <algorithm>
#include <utility>

#include "lib/run/all_sizes.h"
#include "lib/run/recorded_run.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

constexpr double kSmall = 4e6;      // UOps that REF evaluates in a tenth of a second
constexpr double kMoreSeconds = 1;  // time limit of all runs with inputs of all sizes
constexpr int64_t kEnough = 64;     // elements that show most faults; arrays with fewer are drawn several times
constexpr int64_t kMostTurns = 8;

}  // namespace

bool only_compares_with_ref(const RunOptions& options) {
  return options.compare.expect.empty() && options.compare.reference.empty() && options.output.save.empty() &&
         !options.device.timed_runs;
}

bool RecordedRun::draw_all_sizes(uint64_t turn) {
  ProgramSizes arrays = sizes_of(reference_.program);
  std::map<int64_t, size_t> by_slot;  // the number of a buffer's array
  for (size_t i = 0; i < reference_.inputs.size(); i++)
    if (reference_.inputs[i] >= 0) by_slot.emplace(reference_.inputs[i], arrays.whole[i]);
  if (recorded_) {  // its buffers follow, but those of the graph are the same arrays
    const Schedule& schedule = recorded_->kernels.schedule;
    const size_t first = arrays.sizes.size();
    arrays.sizes.resize(first + schedule.buffers.size(), Sizes::All);
    std::vector<size_t> numbers;
    for (size_t i = 0; i < schedule.buffers.size(); i++) numbers.push_back(first + i);
    for (auto& [slot, parts] : recorded_->buffers) {
      const size_t array = by_slot.emplace(slot, first + parts[0]).first->second;
      for (size_t part : parts) numbers[part] = array;
      if (parts.size() > 1) arrays.sizes[array] = Sizes::Usual;
    }
    for (size_t i = 0; i < schedule.buffers.size(); i++) {
      size_t whole = i;
      while (schedule.buffers[whole].view_of) whole = *schedule.buffers[whole].view_of;
      if (schedule.buffers[i].dtype != schedule.buffers[whole].dtype) arrays.sizes[numbers[whole]] = Sizes::Usual;
      if (whole != i) numbers[i] = numbers[whole];
    }
    for (const ScheduleItem& item : schedule.items) {
      arrays.kernels.push_back({item.ast, {}});
      for (size_t number : item.buffers) arrays.kernels.back().arrays.push_back(numbers[number]);
    }
    lower_sizes(arrays.kernels, arrays.sizes);
  }
  const std::vector<double> constants = constants_of(arrays.kernels);
  bool is_drawn = false;
  for (auto& [slot, array] : buffers_) {
    auto number = by_slot.find(slot);
    if (number == by_slot.end() || find_array(given_, data_name(slot))) continue;
    auto drawn = std::make_shared<Array>(array->copy());
    if (!fill_all_sizes(*drawn, data_name(slot), arrays.sizes[number->second], constants, turn)) continue;
    array = std::move(drawn), is_drawn = true;
  }
  return is_drawn;
}

void RecordedRun::run_on_all_sizes() {
  const bool is_plain = only_compares_with_ref(o_) && o_.device.name.empty() && !session_.over.native;
  if (!is_plain || is_compiled_ || report_.stores_nothing || report_.result() != RunReport::Result::Passed) return;
  if (!report_.seed || work() > kSmall) return;
  const DeadlineScope limit(kMoreSeconds);
  int64_t most = recorded_ ? 1 : kEnough;
  for (auto& [slot, array] : buffers_) most = std::max(most, array->size());
  const TensorArrays usual = buffers_;
  in_process_ = true;
  auto result = RunReport::Result::Passed;
  const std::set<int64_t> not_decided = not_decided_;
  for (int64_t turn = 0; turn < std::clamp(kEnough / most, int64_t(1), kMostTurns); turn++) {
    if (!draw_all_sizes(uint64_t(turn))) return;
    result = run_again(usual, name_of(InputSet::AllSizes)).first;
    if (result != RunReport::Result::Passed) return;  // with these values the graph has no meaning, or no time is left
  }
  not_decided_ = not_decided;
  report_.sizes = "also " + std::string(name_of(InputSet::AllSizes));
}

std::pair<RunReport::Result, std::vector<Comparison>> RecordedRun::run_again(const TensorArrays& usual,
                                                                             std::string_view sizes) {
  auto outputs = std::exchange(report_.outputs, {});
  auto stages = std::exchange(report_.stages, {});
  auto ran = std::exchange(report_.ran, {});
  const std::vector<std::string> notes = report_.notes;
  sensitive_.clear(), invalid_.clear(), not_decided_.clear();
  rechecked_ = recheck_cut_ = false;
  auto done = catch_failures([&] {
    SlotArrays actual = recorded_ ? run_recorded() : SlotArrays();
    compare_with_reference(actual);
    return actual;
  });
  const RunReport::Result result = done ? report_.result() : RunReport::Result::Trouble;
  if (result == RunReport::Result::Failed) {
    report_.sizes = sizes, report_.names.clear();
    show(*done);
    if (!o_.output.save_failures.empty()) keep(*done);
    return {result, report_.outputs};
  }
  report_.outputs.swap(outputs);
  report_.stages = std::move(stages), report_.ran = std::move(ran);
  report_.notes = notes, buffers_ = usual;
  return {result, std::move(outputs)};
}

void RecordedRun::run_on_whole_numbers() {
  constexpr double kWhole[] = {0, 1, -1, 2, -2, 3, -3, 4};
  const std::set<int64_t> open = not_decided_;
  const bool is_plain = only_compares_with_ref(o_) && report_.seed && floats_ == Floats::Normal;
  if (open.empty() || !is_plain || report_.result() == RunReport::Result::Failed) return;
  const TensorArrays usual = buffers_;
  for (auto& [slot, array] : buffers_) {
    if (!dtypes::is_float(array->dtype()) || find_array(given_, data_name(slot))) continue;
    array = std::make_shared<Array>(array->copy());
    fill_from_pool(*array, data_name(slot), kWhole, 0);
  }
  const auto [result, outputs] = run_again(usual, "whole numbers");
  if (result == RunReport::Result::Failed) return;
  for (int64_t slot : open) {
    const std::string name = data_name(slot);
    const auto decided = std::ranges::find(outputs, name, &Comparison::name);
    if (decided == outputs.end() || !decided->passed() || decided->left_out > 0) continue;
    std::erase_if(report_.notes, [&](const std::string& n) { return n.starts_with(name + " was not compared:"); });
    report_.notes.push_back(name + " was compared for whole numbers only: rounding decides many of its elements");
    report_.outputs.push_back(*decided);
  }
}

}  // namespace tgc
