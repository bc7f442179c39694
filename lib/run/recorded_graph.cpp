#include "lib/run/recorded_graph.h"

#include <algorithm>
#include <cstring>

#include "lib/run/all_sizes.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/support/deadline.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

std::string array_name_of(int64_t slot) {
  return slot < 0 ? "value" + std::to_string(slot_of_value(0) - slot) : "data" + std::to_string(slot);
}

bool is_ref_only_comparison(const RunOptions& options) {
  return options.compare.expected_file.empty() && options.compare.reference_device.empty() &&
         options.output.save_path.empty() && !options.device.timed_runs;
}

void RecordedTensorGraph::read_record() {
  if (!input_graph.record)
    throw Failure(
        Diag{.message = "a tensor graph of tinygrad " + std::string(name_of(release)) + " without a recorded schedule",
             .file = input_graph.file,
             .expected = "--live=PYTHON, whose tinygrad makes the schedule, or a recording"});
  const GoldenRecord& record = *input_graph.record;
  if (record.error && record.kernels.empty()) throw Failure(refusal_text(record));
  for (const GoldenMetadata& m : record.metadata)
    if (m.name == "late read")
      report.notes.push_back("not compared: values that the program computed before the assignment at " + m.call_place +
                             " read what it stores, as tinygrad's frontend made the graph");
  if (!options.input.arrays_file.empty())
    given_arrays =
        std::move(read_arrays(fill_in_name(options.input.arrays_file, options.input, input_graph)).value_or_throw());
  const DeadlineScope limit(options.device.trial_seconds());
  read_variables();
  reference = std::move(read_tensor_reference(session, record, release, parameters).value_or_throw());
  if (!record.kernels.empty())
    schedule = std::move(read_recorded_schedule(session, record, release, parameters, buffer_sizes()).value_or_throw());
  find_read_slots();
}

void RecordedTensorGraph::check_array_names() const {
  if (!has_own_arrays(options.input)) return;
  std::set<std::string> names;
  for (auto& [slot, array] : buffers) names.insert(array_name_of(slot));
  for (auto& [name, source] : parameters.value_sources) names.insert(name);
  for (auto& [name, value] : parameters.variables.values_by_name) names.insert(name);
  const auto check = [&] {
    const std::string file = fill_in_name(options.input.arrays_file, options.input, input_graph);
    return tgc::check_array_names(given_arrays, names, file,
                                  "the schedule '" + input_graph.info.name + "' has no array");
  };
  if (check()) return;
  // a file of --save-failures also has the buffers that only a stage has
  for (const GoldenStage& stage : input_graph.record->stages) {
    const std::string* text = text_of_stage(stage);
    if (!text) continue;
    auto read = read_tensor_stage(session, *input_graph.record, release, parameters, *text, stage.name);
    if (!read) continue;
    for (int64_t slot : read->input_slots)
      if (slot >= 0) names.insert(array_name_of(slot));
  }
  check().value_or_throw();
}

double RecordedTensorGraph::estimated_work() const {
  double of_kernels = 0, of_graph = 0;
  if (schedule)
    for (const ScheduleItem& item : schedule->kernels.schedule.items)
      of_kernels += item.ast.is(Op::SINK) ? work_of(item.ast) : 0;
  for (const TensorKernel& k : reference.program.kernels) of_graph += work_of(k.ast);
  return std::max(of_kernels, of_graph);
}

std::vector<VariableValues> RecordedTensorGraph::variable_choices() const {
  std::vector<VariableValues> out;
  for (bool largest : {false, true}) {
    VariableValues values;
    bool is_other = false;
    for (auto& [name, bounds] : parameters.variable_bounds) {
      if (find_array(given_arrays, name) || !parameters.variables.values_by_name.contains(name)) continue;
      const int64_t value = largest ? bounds.second : bounds.first;
      is_other |= parameters.variables.values_by_name.at(name) != value && !options.input.variables.contains(name);
      values[name] = value;
    }
    for (auto& [name, value] : options.input.variables) values[name] = value;
    if (is_other) out.push_back(std::move(values));
  }
  return out;
}

// The values come from --var, else from the file of --inputs, else from the recording.
void RecordedTensorGraph::read_variables() {
  parameters = std::move(read_parameters(session, *input_graph.record, release).value_or_throw());
  VariableValues chosen(options.input.variables.begin(), options.input.variables.end());
  for (auto& [name, source] : parameters.value_sources)
    if (const Array* a = find_array(given_arrays, name); a && a->size() == 1)
      chosen.emplace(name, int64_t(element_as_double(*a, 0)));
  if (!chosen.empty())
    parameters = std::move(read_parameters(session, *input_graph.record, release, chosen).value_or_throw());
  report.variables = parameters.value_sources;
  if (!options.input.is_only_kernel) return;
  for (auto& [name, value] : options.input.variables)
    if (!parameters.value_sources.contains(name))
      throw Failure(Diag{.message = "the graph has no variable '" + name + "'", .file = input_graph.file});
}

void RecordedTensorGraph::draw_buffers(std::optional<FloatKind> others) {
  float_distribution = others ? InputDistribution{.floats = *others} : distribution();
  buffers.clear();
  draw_missing_buffers(reference);
  if (!schedule) return;
  for (auto& [slot, numbers] : schedule->buffer_numbers) {
    const ScheduleBuffer& b = schedule->kernels.schedule.buffers[numbers[0]];
    draw_buffer(slot, b.dtype, b.num_elements * int64_t(numbers.size()));
  }
}

void RecordedTensorGraph::find_read_slots() {
  std::set<size_t> memories, numbers;  // numbers of the arrays that kernels read, in the graph and in the schedule
  for (const TensorKernel& k : reference.program.kernels)
    for (const BufferSpec& b : buffers_of_nodes(toposort(k.ast)))
      if (size_t i = size_t(b.argument_number); b.is_read && i < k.memories.size()) memories.insert(k.memories[i]);
  for (size_t i : std::vector<size_t>(memories.begin(), memories.end()))
    for (auto whole = reference.program.memories[i].view_of; whole; whole = reference.program.memories[*whole].view_of)
      memories.insert(*whole);
  for (size_t i : memories)
    if (reference.input_slots[i] >= 0) read_slots_.insert(reference.input_slots[i]);
  if (!schedule) return;
  const Schedule& recorded = schedule->kernels.schedule;
  for (const ScheduleItem& item : recorded.items) {
    const auto accesses = accesses_of(item);
    for (size_t i = 0; i < item.buffers.size(); i++)
      if (accesses[i].is_read) numbers.insert(recorded.buffers[item.buffers[i]].view_of.value_or(item.buffers[i]));
  }
  for (auto& [slot, parts] : schedule->buffer_numbers)
    if (std::ranges::any_of(parts, [&](size_t part) { return numbers.contains(part); })) read_slots_.insert(slot);
}

InputDistribution RecordedTensorGraph::distribution() const {
  InputDistribution out;
  for (UOp u : arrays_without_negatives(input_graph.root)) {
    int64_t slot = slot_of_buffer(u);
    if (u.is(Op::PARAM)) slot = parameters.slot_for_param(slot).value_or(-1);
    if (slot < 0) return {.floats = FloatKind::Unit};
    out.unit_inputs.insert(array_name_of(slot));
  }
  return out;
}

void RecordedTensorGraph::draw_missing_buffers(const TensorReference& reference) {
  const auto& memories = reference.program.memories;
  for (size_t i = 0; i < memories.size(); i++)
    if (reference.input_slots[i] >= 0)
      draw_buffer(reference.input_slots[i], memories[i].dtype, memories[i].num_elements,
                  memories[i].is_replicated ? memories[i].num_devices : 1);
}

void RecordedTensorGraph::draw_buffer(int64_t slot, DType dtype, int64_t size, int64_t copies) {
  auto& array = buffers[slot];
  if (array) return;
  array = std::make_shared<Array>(dtype, std::vector<int64_t>{size});
  if (const Array* a = find_array(given_arrays, array_name_of(slot))) {
    if (a->dtype() != dtype || a->size() != size)
      throw Failure("the buffer '" + array_name_of(slot) + "' is " + array->describe() + ", the file has " +
                    a->describe());
    *array = a->copy();
    report.given_arrays.insert(array_name_of(slot));
    report.arrays_file = fill_in_name(options.input.arrays_file, options.input, input_graph);
    return;
  }
  const uint64_t seed = options.input.seed.value_or(0);
  const std::string name = array_name_of(slot);
  if (read_slots_.contains(slot)) {
    report.seed = seed, report.drawn_arrays.insert(name);
    if (float_distribution.float_kind_of(name) == FloatKind::Unit)
      report.float_distribution = float_inputs_note(float_distribution);
  }
  fill_random(*array, seed, name, float_distribution.float_kind_of(name));
  const size_t part = array->nbytes() / size_t(copies);
  for (size_t d = 1; d < size_t(copies); d++) std::memcpy(array->data() + d * part, array->data(), part);
}

std::map<int64_t, BufferSize> RecordedTensorGraph::buffer_sizes() const {
  std::map<int64_t, BufferSize> out;
  for (size_t i = 0; i < reference.input_slots.size(); i++) {
    const TensorMemory& m = reference.program.memories[i];
    if (reference.input_slots[i] >= 0) out[reference.input_slots[i]] = {m.dtype, m.num_elements * m.dtype.itemsize()};
  }
  return out;
}

bool RecordedTensorGraph::draw_all_magnitudes(uint64_t turn) {
  ProgramMagnitudes arrays = program_magnitudes_of(reference.program);
  std::map<int64_t, size_t> by_slot;
  for (size_t i = 0; i < reference.input_slots.size(); i++)
    if (reference.input_slots[i] >= 0) by_slot.emplace(reference.input_slots[i], arrays.whole_arrays[i]);
  if (schedule) {
    const Schedule& recorded = schedule->kernels.schedule;
    const size_t first = arrays.array_magnitudes.size();
    arrays.array_magnitudes.resize(first + recorded.buffers.size(), Magnitudes::All);
    std::vector<size_t> numbers;
    for (size_t i = 0; i < recorded.buffers.size(); i++) numbers.push_back(first + i);
    for (auto& [slot, parts] : schedule->buffer_numbers) {
      const size_t array = by_slot.emplace(slot, first + parts[0]).first->second;
      for (size_t part : parts) numbers[part] = array;
      if (parts.size() > 1) arrays.array_magnitudes[array] = Magnitudes::Usual;
    }
    for (size_t i = 0; i < recorded.buffers.size(); i++) {
      size_t whole = i;
      while (recorded.buffers[whole].view_of) whole = *recorded.buffers[whole].view_of;
      if (recorded.buffers[i].dtype != recorded.buffers[whole].dtype)
        arrays.array_magnitudes[numbers[whole]] = Magnitudes::Usual;
      if (whole != i) numbers[i] = numbers[whole];
    }
    for (const ScheduleItem& item : recorded.items) {
      arrays.kernels.push_back({item.ast, {}});
      for (size_t number : item.buffers) arrays.kernels.back().array_numbers.push_back(numbers[number]);
    }
    lower_array_magnitudes(arrays.kernels, arrays.array_magnitudes);
  }
  const std::vector<double> constants = constants_of_kernels(arrays.kernels);
  bool is_drawn = false;
  for (auto& [slot, array] : buffers) {
    auto number = by_slot.find(slot);
    if (number == by_slot.end() || find_array(given_arrays, array_name_of(slot))) continue;
    auto drawn = std::make_shared<Array>(array->copy());
    if (!fill_all_magnitudes(*drawn, array_name_of(slot), arrays.array_magnitudes[number->second], constants, turn))
      continue;
    array = std::move(drawn), is_drawn = true;
  }
  return is_drawn;
}

void RecordedTensorGraph::draw_whole_numbers() {
  constexpr double kWhole[] = {0, 1, -1, 2, -2, 3, -3, 4};
  for (auto& [slot, array] : buffers) {
    if (!dtypes::is_float(array->dtype()) || find_array(given_arrays, array_name_of(slot))) continue;
    array = std::make_shared<Array>(array->copy());
    fill_from_pool(*array, array_name_of(slot), kWhole, 0);
  }
}

}  // namespace tgc
