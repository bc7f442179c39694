#include "lib/run/recorded_run.h"

#include <algorithm>
#include <cstring>

#include "lib/run/repro_command.h"
#include "lib/support/deadline.h"
#include "lib/validate/reference_sample.h"

namespace tgc {

std::string data_name(int64_t slot) {
  return slot < 0 ? "value" + std::to_string(value_slot(0) - slot) : "data" + std::to_string(slot);
}

void RecordedRun::run() {
  if (!in_.record)
    throw Failure(Diag{.message = "a tensor graph of tinygrad " + std::string(name_of(release_)) +
                                  " without a recorded schedule",
                       .file = in_.file,
                       .expected = "--live=PYTHON, whose tinygrad makes the schedule, or a recording"});
  const GoldenRecord& record = *in_.record;
  const Settings settings = session_.settings_for().value_or_throw();
  const bool compiles = session_.over.native || !o_.device.name.empty();
  place_ = compiles ? std::move(placement_for_model(session_, o_.device.name, settings).value_or_throw())
                    : place_in_ref();
  check_emulation(*place_);
  auto begin = Clock::now();
  if (record.error && record.kernels.empty()) throw Failure(refusal_text(record));
  for (const GoldenMetadata& m : record.metadata)
    if (m.name == "late read")
      report_.notes.push_back("not compared: values that the program computed before the assignment at " + m.caller +
                              " read what it stores, as tinygrad's frontend made the graph");
  if (!o_.input.arrays.empty())
    given_ = std::move(read_arrays(expanded(o_.input.arrays, o_.input, in_)).value_or_throw());
  {
    const DeadlineScope limit(o_.device.trial_seconds());
    read_variables();
    reference_ = std::move(read_tensor_reference(session_, record, release_, parameters_).value_or_throw());
    if (!record.kernels.empty())
      recorded_ = std::move(
          read_recorded_schedule(session_, record, release_, parameters_, sizes()).value_or_throw());
    if (recorded_) check_kernel_order();
  }
  report_.build_seconds = seconds_since(begin);
  draw_buffers();
  const size_t runs = 1 + (recorded_ ? 1 : record.stages.size());  // of the graph, and of what is compared with it
  if (!compiles && work() * double(runs) > kMostOfAllRuns)
    place_ = std::move(placement_for_model(session_, "CPU", settings).value_or_throw()), is_compiled_ = true;
  report_.device = place_->label, report_.device_option = place_->device_option();
  begin = Clock::now();
  SlotArrays actual;
  if (recorded_) {
    session_.progress("the kernels of " + in_.info.name);
    auto ran = catch_failures([&] { return compiled_or_in_ref([&] { return run_recorded(); }); });
    if (!ran && !(finds_stage_ && ran.diag().kernel_fault)) throw Failure(ran.diag());
    if (!ran) return find_faulty_stage(ran.diag());
    actual = std::move(*ran);
  }
  report_.total_seconds = seconds_since(begin);
  if (o_.compare.reference == "none") return show(actual), save();
  session_.progress("the tensor graph of " + in_.info.name);
  report_.reference = is_compiled_ ? "the tensor graph on " + place_->label + ", since it is too large for REF"
                                   : kRefOfGraph;
  compare_with_reference(actual);
  const bool differs = !std::ranges::all_of(report_.outputs, &Comparison::passed);
  if (recorded_ && (!differs || !report_.stages || report_.stages->stage.empty()))
    find_hazard_in_kernels(differs);
  const bool no_stage_changes = report_.stages && !report_.stages->stages_run && report_.stages->refused.empty();
  report_.stores_nothing = !recorded_ && (reference_.program.outputs.empty() || no_stage_changes);
  show(actual);
  save();
  if (report_.result() == RunReport::Result::Failed && !o_.output.save_failures.empty()) keep(actual);
}

// Returns values of the variables to try besides those of the run: all at their smallest, and all at their largest.
std::vector<VariableValues> RecordedRun::more_values() const {
  std::vector<VariableValues> out;
  for (bool largest : {false, true}) {
    VariableValues values;
    bool is_other = false;
    for (auto& [name, bounds] : parameters_.bounds) {
      if (find_array(given_, name) || !parameters_.variables.by_name.contains(name)) continue;
      const int64_t value = largest ? bounds.second : bounds.first;
      is_other |= parameters_.variables.by_name.at(name) != value && !o_.input.variables.contains(name);
      values[name] = value;
    }
    for (auto& [name, value] : o_.input.variables) values[name] = value;
    if (is_other) out.push_back(std::move(values));
  }
  return out;
}

// The values of variables: --var, else the file of --inputs, else the recording.
void RecordedRun::read_variables() {
  parameters_ = std::move(read_parameters(session_, *in_.record, release_).value_or_throw());
  VariableValues given(o_.input.variables.begin(), o_.input.variables.end());
  for (auto& [name, source] : parameters_.sources)
    if (const Array* a = find_array(given_, name); a && a->size() == 1)
      given.emplace(name, int64_t(element_as_double(*a, 0)));
  if (!given.empty())
    parameters_ = std::move(read_parameters(session_, *in_.record, release_, given).value_or_throw());
  report_.variables = parameters_.sources;
  if (!o_.input.is_only_kernel) return;
  for (auto& [name, value] : o_.input.variables)
    if (!parameters_.sources.contains(name))
      throw Failure(Diag{.message = "the graph has no variable '" + name + "'", .file = in_.file});
}

void RecordedRun::draw_buffers() {
  floats_ = input_distribution(in_.root).floats;
  draw_buffers_of(reference_);
  if (!recorded_) return;
  for (auto& [slot, numbers] : recorded_->buffers) {
    const ScheduleBuffer& b = recorded_->kernels.schedule.buffers[numbers[0]];
    draw(slot, b.dtype, b.size * int64_t(numbers.size()));
  }
}

void RecordedRun::draw_buffers_of(const TensorReference& reference) {
  const auto& memories = reference.program.memories;
  for (size_t i = 0; i < memories.size(); i++)
    if (reference.inputs[i] >= 0)
      draw(reference.inputs[i], memories[i].dtype, memories[i].size,
           memories[i].is_replicated ? memories[i].devices : 1);
}

// `copies`: the number of parts that have the same content.
void RecordedRun::draw(int64_t slot, DType dtype, int64_t size, int64_t copies) {
  auto& array = buffers_[slot];
  if (array) return;
  array = std::make_shared<Array>(dtype, std::vector<int64_t>{size});
  if (const Array* a = find_array(given_, data_name(slot))) {
    if (a->dtype() != dtype || a->size() != size)
      throw Failure("the buffer '" + data_name(slot) + "' is " + array->describe() + ", the file has " +
                    a->describe());
    *array = a->copy();
    return;
  }
  report_.seed = o_.input.seed.value_or(0);
  if (floats_ == Floats::Unit) report_.floats = "between 0 and 1: others make NaNs";
  fill_random(*array, *report_.seed, data_name(slot), floats_);
  const size_t part = array->nbytes() / size_t(copies);
  for (size_t d = 1; d < size_t(copies); d++) std::memcpy(array->data() + d * part, array->data(), part);
}

// The dtype and size of each buffer of the graph.
std::map<int64_t, BufferSize> RecordedRun::sizes() const {
  std::map<int64_t, BufferSize> out;
  for (size_t i = 0; i < reference_.inputs.size(); i++) {
    const TensorMemory& m = reference_.program.memories[i];
    if (reference_.inputs[i] >= 0) out[reference_.inputs[i]] = {m.dtype, m.size * m.dtype.itemsize()};
  }
  return out;
}

void RecordedRun::check_kernel_order() {
  report_.order = check_order(session_, *in_.record, release_, *recorded_, parameters_);
  not_compared_ = note_order(report_.order, *recorded_, report_.notes);
}

ScheduleOptions RecordedRun::options_for(const Placement& place) const {
  return {.in_process = in_process_ || o_.device.in_process,
          .timeout_seconds = o_.device.timeout_for(place),
          .trial_seconds = o_.device.trial_seconds(),
          .compile_seconds = o_.device.timeout_seconds.value_or(0)};
}

SlotArrays RecordedRun::run_recorded() {
  const Schedule& schedule = recorded_->kernels.schedule;
  BufferValues known;
  std::vector<WantedArray> wanted;
  for (auto& [slot, numbers] : recorded_->buffers) {
    const auto& array = buffers_.at(slot);
    const size_t bytes = array->nbytes() / numbers.size();
    for (size_t d = 0; d < numbers.size(); d++) {
      const ScheduleBuffer& b = schedule.buffers[numbers[d]];
      if (size_t(b.nbytes()) != bytes) throw Failure("a buffer has another size in the schedule than in the graph");
      known[b.uop] = {array->data() + d * bytes, bytes, array};
      wanted.push_back({numbers[d], b.dtype, {b.size}});
    }
  }
  ScheduleOptions options = options_for(*place_);
  options.timed_runs = report_.timed_runs = o_.device.timed_runs;
  ScheduleRunner runner(*place_, unsigned(session_.settings_for().value_or_throw().cpu_count()));
  report_.ran = std::move(runner.run(schedule, known, wanted, options).value_or_throw());
  SlotArrays out;
  size_t next = 0;
  for (auto& [slot, numbers] : recorded_->buffers) {
    Array whole(buffers_.at(slot)->dtype(), {buffers_.at(slot)->size()});
    size_t at = 0;
    for (size_t d = 0; d < numbers.size(); d++, next++) {
      const Array& part = report_.ran.values[next];
      std::memcpy(whole.data() + at, part.data(), part.nbytes());
      at += part.nbytes();
    }
    out.emplace(slot, std::move(whole));
  }
  report_.ran.values.clear();
  return out;
}

SlotArrays RecordedRun::run_reference(std::optional<int> way) {
  return compiled_or_in_ref([&] {
    Placement ref = place_in_ref();
    Placement& place = is_compiled_ ? *place_ : ref;
    return std::move(run_tensor_reference(reference_, buffers_, options_for(place), way, &place).value_or_throw());
  });
}

double RecordedRun::work() const {
  double recorded = 0, reference = 0;
  if (recorded_)
    for (const ScheduleItem& item : recorded_->kernels.schedule.items)
      recorded += item.ast.is(Op::SINK) ? work_of(item.ast) : 0;
  for (const TensorKernel& k : reference_.program.kernels) reference += work_of(k.ast);
  return std::max(recorded, reference);
}

// Runs compiled kernels, which are fast. tgc's pipeline is that of 0.12.0, so that it cannot compile every kernel of
// another release; REF runs these.
template <class Run>
SlotArrays RecordedRun::compiled_or_in_ref(Run run) {
  if (!is_compiled_) return run();
  auto done = catch_failures(run);
  if (done) return std::move(*done);
  if (done.diag().kernel_fault || current_deadline().is_over()) throw Failure(done.diag());
  place_ = place_in_ref(), is_compiled_ = false;
  report_.device = place_->label, report_.device_option = place_->device_option();
  if (!report_.reference.empty()) report_.reference = kRefOfGraph;
  return run();
}

void RecordedRun::show(const SlotArrays& actual) {
  for (auto& [slot, array] : actual.empty() ? expected_ : actual) {
    if (!expected_.empty() && !expected_.contains(slot)) continue;
    report_.names.push_back(data_name(slot));
    report_.ran.values.push_back(array.copy());
  }
}

// Writes the arrays of a failed run to the folder of --save-failures.
void RecordedRun::keep(const SlotArrays& actual) {
  auto named = [](const auto& arrays, auto get) {
    Arrays out;
    for (auto& [slot, array] : arrays) out.push_back({data_name(slot), get(array).copy()});
    return out;
  };
  Arrays inputs = named(buffers_, [](auto& array) -> const Array& { return *array; });
  for (auto& [name, value] : parameters_.variables.by_name) {
    Array number(dtypes::int64, {1});
    number.as<int64_t>()[0] = value;
    inputs.push_back({name, std::move(number)});
  }
  RunReport kept;
  auto same = [](auto& array) -> const Array& { return array; };
  keep_failure(session_, o_, in_, *place_, inputs, named(expected_, same), named(actual, same), kept);
  report_.written = std::move(kept.written), report_.again = std::move(kept.again);
}

// Writes the results to the file of --save.
void RecordedRun::save() {
  if (o_.output.save.empty()) return;
  Arrays arrays;
  for (size_t i = 0; i < report_.names.size(); i++)
    arrays.push_back({report_.names[i], report_.ran.values[i].copy()});
  auto saved = write_npz(take_path(o_.output.save, o_, in_.info.name, is_of_recording(in_)), arrays);
  if (!saved && report_.result() != RunReport::Result::Failed) throw Failure(saved.diag());
  if (!saved) report_.not_kept = saved.diag().text();
}

}  // namespace tgc
