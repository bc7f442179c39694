#include "lib/run/recorded_comparison.h"

#include <algorithm>
#include <cstring>

#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

constexpr double kMostOfAllRuns = 2e8;  // UOps that REF evaluates in about 2 s
constexpr const char* kRefOfGraph = "REF of the tensor graph";

Array repeat_array(const Array& array, int64_t count) {
  Array out(array.dtype(), {array.size() * count});
  for (int64_t i = 0; i < count; i++)
    std::memcpy(out.data() + size_t(i) * array.nbytes(), array.data(), array.nbytes());
  return out;
}

bool has_only_copies(const Array& whole, const Array& part) {
  const size_t bytes = part.nbytes();
  if (part.size() == 0 || whole.size() <= part.size() || whole.nbytes() % bytes || !(whole.dtype() == part.dtype()))
    return false;
  for (size_t at = bytes; at < whole.nbytes(); at += bytes)
    if (std::memcmp(whole.data(), whole.data() + at, bytes) != 0) return false;
  return true;
}

}  // namespace

void RecordedGraphRunner::choose_place(size_t runs) {
  const Settings settings = graph_.session.merge_settings().value_or_throw();
  auto on = [&](const std::string& device) {
    return std::move(placement_for_model(graph_.session, device, settings).value_or_throw());
  };
  const std::string& device = graph_.options.device.name;
  const bool compiles = graph_.session.overrides.uses_native_pipeline || !device.empty();
  placement_ = compiles ? on(device) : make_ref_placement();
  check_emulation(*placement_).value_or_throw();
  is_compiled_ = !compiles && graph_.estimated_work() * double(runs) > kMostOfAllRuns;
  if (is_compiled_) placement_ = on("CPU");
  graph_.report.device = placement_->label, graph_.report.device_option = placement_->device_option();
}

std::string RecordedGraphRunner::name_of_reference() const {
  return is_compiled_ ? "the tensor graph on " + placement_->label + ", since it is too large for REF" : kRefOfGraph;
}

ScheduleOptions RecordedGraphRunner::options_for(const Placement& place) const {
  return {.should_run_in_process = should_run_in_process_ || graph_.options.device.should_run_in_process,
          .timeout_seconds = graph_.options.device.timeout_seconds_for(place),
          .trial_seconds = graph_.options.device.trial_seconds(),
          .compile_seconds = graph_.options.device.timeout_seconds.value_or(0)};
}

SlotArrays RecordedGraphRunner::run_recorded_kernels() {
  return run_compiled_or_in_ref([&] { return run_kernels(); });
}

SlotArrays RecordedGraphRunner::run_kernels() {
  const Schedule& schedule = graph_.schedule->kernels.schedule;
  BufferValues known;
  std::vector<OutputRequest> wanted;
  for (auto& [slot, numbers] : graph_.schedule->buffer_numbers) {
    const auto& array = graph_.buffers.at(slot);
    const size_t bytes = array->nbytes() / numbers.size();
    for (size_t d = 0; d < numbers.size(); d++) {
      const ScheduleBuffer& b = schedule.buffers[numbers[d]];
      if (size_t(b.nbytes()) != bytes) throw Failure("a buffer has another size in the schedule than in the graph");
      known[b.uop] = {array->data() + d * bytes, bytes, array};
      wanted.push_back({numbers[d], b.dtype, {b.num_elements}});
    }
  }
  ScheduleOptions options = options_for(*placement_);
  options.timed_runs = graph_.report.timed_runs = graph_.options.device.timed_runs;
  ScheduleRunner runner(*placement_, unsigned(graph_.session.merge_settings().value_or_throw().cpu_count()));
  graph_.report.schedule_result = std::move(runner.run_schedule(schedule, known, wanted, options).value_or_throw());
  SlotArrays out;
  size_t next = 0;
  for (auto& [slot, numbers] : graph_.schedule->buffer_numbers) {
    Array whole(graph_.buffers.at(slot)->dtype(), {graph_.buffers.at(slot)->size()});
    size_t at = 0;
    for (size_t d = 0; d < numbers.size(); d++, next++) {
      const Array& part = graph_.report.schedule_result.values[next];
      std::memcpy(whole.data() + at, part.data(), part.nbytes());
      at += part.nbytes();
    }
    out.emplace(slot, std::move(whole));
  }
  graph_.report.schedule_result.values.clear();
  return out;
}

SlotArrays RecordedGraphRunner::run_reference(std::optional<int> perturbation) {
  return run_compiled_or_in_ref([&] {
    Placement ref = make_ref_placement();
    Placement& place = is_compiled_ ? *placement_ : ref;
    auto done = run_tensor_reference(graph_.reference, graph_.buffers, options_for(place), perturbation, &place);
    return std::move(done.value_or_throw());
  });
}

Result<SlotArrays> RecordedGraphRunner::run_graph_variant(const TensorReference& reference, bool may_be_compiled) {
  Placement ref = make_ref_placement();
  Placement& place = is_compiled_ && may_be_compiled ? *placement_ : ref;
  return run_tensor_reference(reference, graph_.buffers, options_for(place), {}, &place);
}

// Runs again in REF if compiled kernels fail, because tgc's pipeline may be unable to compile a kernel of another
// release. Throws if the fault is a kernel's, or if current_deadline() is over.
template <class Run>
SlotArrays RecordedGraphRunner::run_compiled_or_in_ref(Run run) {
  if (!is_compiled_) return run();
  auto done = catch_failures(run);
  if (done) return std::move(*done);
  if (done.diag().is_kernel_fault || current_deadline().is_over()) throw Failure(done.diag());
  placement_ = make_ref_placement(), is_compiled_ = false;
  graph_.report.device = placement_->label, graph_.report.device_option = placement_->device_option();
  if (!graph_.report.reference.empty()) graph_.report.reference = kRefOfGraph;
  return run();
}

RecordedComparison::RecordedComparison(RecordedTensorGraph& graph, RecordedGraphRunner& graph_runner,
                                       const std::set<int64_t>& not_compared)
    : graph_(graph), graph_runner_(graph_runner), not_compared_slots_(not_compared) {
  auto note = [&](UOp ast) {
    if (!ast.is(Op::SINK)) return;
    has_sums_ |= has_summed_terms(ast);
    coarsest_dtype_ = coarsest_rounding(ast, coarsest_dtype_);
  };
  if (graph_.schedule)
    for (const ScheduleItem& item : graph_.schedule->kernels.schedule.items) note(item.ast);
  for (const TensorKernel& k : graph_.reference.program.kernels) note(k.ast);
}

ToleranceOptions RecordedComparison::tolerance_for(const Array& expected) const {
  const auto& asked = graph_.options.compare.tolerance;
  if (asked.rtol || asked.atol || asked.ulp || !graph_.options.compare.expected_file.empty()) return asked;
  return tolerance_between_devices(expected, coarsest_dtype_, has_sums_);
}

void RecordedComparison::read_expected_arrays() {
  const std::string file = fill_in_name(graph_.options.compare.expected_file, graph_.options.input, graph_.input_graph);
  graph_.report.reference = file;
  Arrays arrays = std::move(read_arrays(file).value_or_throw());
  std::string stored;
  for (auto& [slot, array] : expected_arrays_) {
    const std::string name = array_name_of(slot);
    stored += (stored.empty() ? "" : ", ") + name;
    auto given = std::ranges::find(arrays, name, &NamedArray::name);
    if (given == arrays.end())
      throw Failure(Diag{.message = "the file lacks '" + name + "', which the graph stores", .file = file});
    auto same = reinterpret_raw_bits(std::move(given->array), array.dtype(), name);
    if (!same || same->size() != array.size())
      throw Failure(Diag{.message = same ? name + " is " + same->describe() : same.diag().message,
                         .file = file,
                         .expected = array.describe()});
    array = std::move(*same);
    arrays.erase(given);
  }
  if (!arrays.empty())
    throw Failure(
        Diag{.message = "the graph stores no array '" + arrays[0].name + "'", .file = file, .expected = stored});
}

void RecordedComparison::find_invalid_values() {
  if (!graph_.reference.program.has_invalid) return;
  const TensorReference other =
      std::move(read_tensor_reference(graph_.session, *graph_.input_graph.record, graph_.release, graph_.parameters, 1)
                .value_or_throw());
  const SlotArrays values = std::move(graph_runner_.run_graph_variant(other, false).value_or_throw());
  for (auto& [slot, expected] : expected_arrays_) {
    const Array& changed = values.at(slot);
    const auto item = size_t(expected.dtype().itemsize());
    auto& flags = invalid_elements_[slot];
    for (size_t k = 0; k < size_t(expected.size()); k++)
      flags.push_back(std::memcmp(expected.data() + k * item, changed.data() + k * item, item) != 0);
    if (const auto count = std::ranges::count(flags, true))
      graph_.report.notes.push_back("not compared, since Invalid: " + count_text(uint64_t(count), "element") + " of " +
                                    array_name_of(slot));
  }
}

Array RecordedComparison::without_invalid_values(const Array& array, int64_t slot) const {
  Array out = array.copy();
  auto it = invalid_elements_.find(slot);
  if (it == invalid_elements_.end()) return out;
  const Array& expected = expected_arrays_.at(slot);
  const auto item = size_t(out.dtype().itemsize());
  for (size_t k = 0; k < it->second.size(); k++)
    if (it->second[k]) std::memcpy(out.data() + k * item, expected.data() + k * item, item);
  return out;
}

std::vector<Comparison> RecordedComparison::compare_arrays(const SlotArrays& actual, bool all) {
  std::vector<Comparison> out;
  for (auto& [slot, expected] : expected_arrays_) {
    auto a = actual.find(slot);
    if (a == actual.end() && (!all || slot < 0)) continue;
    if (not_compared_slots_.contains(slot)) continue;
    const Array& found = a == actual.end() ? *graph_.buffers.at(slot) : a->second;
    // the graph may have one copy of a value for each device
    const bool is_in_parts = slot < 0 && has_only_copies(expected, found);
    const Array stored = is_in_parts ? repeat_array(found, expected.size() / found.size()) : found.copy();
    // a value that a stage stores on several devices has the same elements on each
    const bool has_copies = slot < 0 && expected.size() > 0 && stored.size() > expected.size() &&
                            stored.size() % expected.size() == 0 && stored.dtype() == expected.dtype();
    if (slot < 0 && !has_copies && stored.size() != expected.size()) continue;
    if (!has_copies && stored.size() != expected.size())
      throw Failure("an output has another size in the schedule than in the graph");
    const Array array =
        without_invalid_values(has_copies ? make_differing_copy(stored, expected) : stored.copy(), slot);
    auto compared = tgc::compare_arrays(array_name_of(slot), array, expected, tolerance_for(expected));
    out.push_back(std::move(compared.value_or_throw()));
    if (out.back().has_passed() || !graph_.options.compare.expected_file.empty()) continue;
    const auto& sensitive = sensitive_elements()[slot];
    Array rest = array.copy();
    const auto item = size_t(rest.dtype().itemsize());
    for (size_t k = 0; k < sensitive.size(); k++)
      if (sensitive[k]) std::memcpy(rest.data() + k * item, expected.data() + k * item, item);
    const int64_t all = out.back().num_different;
    compared = tgc::compare_arrays(array_name_of(slot), rest, expected, tolerance_for(expected));
    out.back() = std::move(compared.value_or_throw());
    out.back().num_left_out = all - out.back().num_different;
    out.back().is_recheck_incomplete = was_recheck_cut_ && !out.back().has_passed();
    // if rounding decides many elements, a few perturbed runs do not find all of them
    if (!out.back().has_passed() && out.back().num_left_out * 4 >= expected.size()) {
      out.pop_back();
      graph_.report.not_decided_elements[array_name_of(slot)] = expected.size();
      if (not_decided_slots_.insert(slot).second)
        graph_.report.notes.push_back(array_name_of(slot) + " was not compared: rounding decides many of its elements");
    }
  }
  return out;
}

std::map<int64_t, std::vector<bool>>& RecordedComparison::sensitive_elements() {
  if (is_rechecked_) return sensitive_elements_;
  is_rechecked_ = true;
  graph_.session.report_progress("the tensor graph of " + graph_.input_graph.info.name + ", with perturbed roundings");
  const DeadlineScope scope(double(limit_value(Limit::RefSeconds)));
  for (int perturbation = 0; perturbation < kNumPerturbations && !current_deadline().is_over(); perturbation++) {
    auto perturbed = catch_failures([&] { return graph_runner_.run_reference(perturbation); });
    if (!perturbed) continue;
    for (auto& [slot, expected] : expected_arrays_) {
      auto differs =
          std::move(differing_elements(perturbed->at(slot), expected, tolerance_for(expected)).value_or_throw());
      auto& flags = sensitive_elements_[slot];
      flags.resize(differs.size());
      for (size_t k = 0; k < differs.size(); k++) flags[k] = flags[k] || differs[k];
    }
  }
  was_recheck_cut_ = current_deadline().is_over();
  return sensitive_elements_;
}

}  // namespace tgc
