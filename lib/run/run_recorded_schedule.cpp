#include "lib/run/run_recorded_schedule.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "lib/run/honoured_options.h"
#include "lib/run/repro_command.h"
#include "lib/run/run_stages.h"
#include "lib/run/tensor_reference.h"
#include "lib/runtime/npy.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/support/clocks.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/validate/hazard.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

using SlotArrays = std::map<int64_t, Array>;  // by the slot of the buffer

std::string data_name(int64_t slot) {
  return slot < 0 ? "value" + std::to_string(value_slot(0) - slot) : "data" + std::to_string(slot);
}

class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report,
              bool finds_stage)
      : session_(session), in_(in), o_(options), report_(report), release_(in.graph->release()),
        finds_stage_(finds_stage) {}

  void run() {
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
    const DeadlineScope whole(o_.device.timeout_seconds.value_or(kSeconds));
    if (record.error && record.kernels.empty()) throw Failure(refusal_text(record));
    if (!o_.input.arrays.empty()) given_ = std::move(read_arrays(o_.input.arrays).value_or_throw());
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
    if (!compiles && work() > kMostWork)
      place_ = std::move(placement_for_model(session_, "CPU", settings).value_or_throw()), is_compiled_ = true;
    report_.device = place_->label, report_.device_option = place_->device_option();
    begin = Clock::now();
    const SlotArrays actual = recorded_ ? run_recorded() : SlotArrays();
    report_.total_seconds = seconds_since(begin);
    if (o_.compare.reference == "none") return show(actual), save();
    session_.progress("the tensor graph");
    report_.reference = is_compiled_ ? "the tensor graph on " + place_->label + ", since it is too large for REF"
                                     : "REF of the tensor graph";
    expected_ = run_reference();
    if (!o_.compare.expect.empty()) take_expected();
    note_tolerance();
    find_invalid();
    if (recorded_) report_.outputs = compare(actual);
    const bool differs = !std::ranges::all_of(report_.outputs, &Comparison::passed);
    if (o_.compare.each_stage || !recorded_ || (differs && finds_stage_)) compare_stages(differs);
    if (differs && finds_stage_ && report_.stages->stage.empty()) find_hazard_in_kernels();
    const bool no_stage_changes = report_.stages && !report_.stages->stages_run && report_.stages->refused.empty();
    report_.stores_nothing = !recorded_ && (reference_.program.outputs.empty() || no_stage_changes);
    show(actual);
    save();
  }

 private:
  // The values of variables: --var, else the file of --inputs, else the recording.
  void read_variables() {
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

  // ---- the first content of each buffer of the tensor graph
  void draw_buffers() {
    floats_ = input_distribution(in_.root).floats;
    draw_buffers_of(reference_);
    if (!recorded_) return;
    for (auto& [slot, numbers] : recorded_->buffers) {
      const ScheduleBuffer& b = recorded_->kernels.schedule.buffers[numbers[0]];
      draw(slot, b.dtype, b.size * int64_t(numbers.size()));
    }
  }
  void draw_buffers_of(const TensorReference& reference) {
    const auto& memories = reference.program.memories;
    for (size_t i = 0; i < memories.size(); i++)
      if (reference.inputs[i] >= 0)
        draw(reference.inputs[i], memories[i].dtype, memories[i].size,
             memories[i].is_replicated ? memories[i].devices : 1);
  }
  // `copies`: the number of parts that have the same content.
  void draw(int64_t slot, DType dtype, int64_t size, int64_t copies = 1) {
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
  std::map<int64_t, BufferSize> sizes() const {
    std::map<int64_t, BufferSize> out;
    for (size_t i = 0; i < reference_.inputs.size(); i++) {
      const TensorMemory& m = reference_.program.memories[i];
      if (reference_.inputs[i] >= 0) out[reference_.inputs[i]] = {m.dtype, m.size * m.dtype.itemsize()};
    }
    return out;
  }

  // ---- the order of the kernels
  void check_kernel_order() {
    report_.order = check_order(session_, *in_.record, release_, *recorded_, parameters_);
    const Schedule& schedule = recorded_->kernels.schedule;
    for (const OrderFault& f : report_.order.stale_reads)
      report_.notes.push_back(f.text + ", but depends on what that kernel stores: tinygrad keeps no copy of the old "
                                       "content, so the kernel reads the new one");
    std::set<size_t> decided_by_stale;  // buffers of the schedule
    for (size_t k = 0; k < report_.order.depends_on_stale.size(); k++) {
      if (!report_.order.depends_on_stale[k]) continue;
      const auto accesses = accesses_of(schedule.items[k]);
      for (size_t i = 0; i < accesses.size(); i++) {
        const size_t number = schedule.items[k].buffers[i];
        if (accesses[i].writes) decided_by_stale.insert(schedule.buffers[number].view_of.value_or(number));
      }
    }
    for (auto& [slot, numbers] : recorded_->buffers)
      if (std::ranges::any_of(numbers, [&](size_t n) { return decided_by_stale.contains(n); })) {
        not_compared_.insert(slot);
        report_.notes.push_back(data_name(slot) + " was not compared, since such a read decides it");
      }
    for (const std::string& text : report_.order.undecided)
      report_.notes.push_back("the graph does not decide in which order " + text);
  }

  // ---- Invalid elements: those that differ if Invalid becomes another number
  void find_invalid() {
    if (!reference_.program.has_invalid) return;
    const TensorReference other =
        std::move(read_tensor_reference(session_, *in_.record, release_, parameters_, 1).value_or_throw());
    const SlotArrays values =
        std::move(run_tensor_reference(other, buffers_, options_for(place_in_ref())).value_or_throw());
    for (auto& [slot, expected] : expected_) {
      const Array& changed = values.at(slot);
      const auto item = size_t(expected.dtype().itemsize());
      auto& flags = invalid_[slot];
      for (size_t k = 0; k < size_t(expected.size()); k++)
        flags.push_back(std::memcmp(expected.data() + k * item, changed.data() + k * item, item) != 0);
      if (const auto count = std::ranges::count(flags, true))
        report_.notes.push_back("not compared, since Invalid: " + counted(uint64_t(count), "element") + " of " +
                                data_name(slot));
    }
  }
  // Returns a copy of `array` with the expected values where Invalid elements are.
  Array without_invalid(const Array& array, int64_t slot) const {
    Array out = array.copy();
    auto it = invalid_.find(slot);
    if (it == invalid_.end()) return out;
    const Array& expected = expected_.at(slot);
    const auto item = size_t(out.dtype().itemsize());
    for (size_t k = 0; k < it->second.size(); k++)
      if (it->second[k]) std::memcpy(out.data() + k * item, expected.data() + k * item, item);
    return out;
  }

  ScheduleOptions options_for(const Placement& place) const {
    return {.in_process = o_.device.in_process,
            .timeout_seconds = o_.device.timeout_for(place),
            .trial_seconds = o_.device.trial_seconds(),
            .compile_seconds = o_.device.timeout_seconds.value_or(0)};
  }

  // ---- the recorded kernels
  SlotArrays run_recorded() {
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

  // ---- the tensor graph in REF
  SlotArrays run_reference(std::optional<int> way = {}) {
    Placement ref = place_in_ref();
    Placement& place = is_compiled_ ? *place_ : ref;
    return std::move(
        run_tensor_reference(reference_, buffers_, options_for(place), way, &place).value_or_throw());
  }
  // The number of UOps that REF evaluates for the recorded kernels or for the tensor graph.
  double work() const {
    double recorded = 0, reference = 0;
    if (recorded_)
      for (const ScheduleItem& item : recorded_->kernels.schedule.items)
        recorded += item.ast.is(Op::SINK) ? work_of(item.ast) : 0;
    for (const TensorKernel& k : reference_.program.kernels) reference += work_of(k.ast);
    return std::max(recorded, reference);
  }

  void note_tolerance() {
    auto note = [&](UOp ast) {
      if (!ast.is(Op::SINK)) return;
      sums_ |= adds_up(ast);
      if (DType d = coarsest_rounding(ast); d.itemsize() && d.priority() < coarsest_.priority()) coarsest_ = d;
    };
    if (recorded_)
      for (const ScheduleItem& item : recorded_->kernels.schedule.items) note(item.ast);
    for (const TensorKernel& k : reference_.program.kernels) note(k.ast);
  }
  ToleranceOptions tolerance_for(const Array& expected) const {
    const auto& asked = o_.compare.tolerance;
    if (asked.rtol || asked.atol || asked.ulp || !o_.compare.expect.empty()) return asked;
    return tolerance_between_devices(expected, coarsest_, sums_);
  }

  // Replaces the arrays that REF computed by those of --expect, which must be arrays of the same buffers.
  void take_expected() {
    const std::string file = expanded(o_.compare.expect, o_.input, in_);
    report_.reference = file;
    Arrays arrays = std::move(read_arrays(file).value_or_throw());
    std::string stored;
    for (auto& [slot, array] : expected_) {
      const std::string name = data_name(slot);
      stored += (stored.empty() ? "" : ", ") + name;
      auto given = std::ranges::find(arrays, name, &NamedArray::name);
      if (given == arrays.end())
        throw Failure(Diag{.message = "the file lacks '" + name + "', which the graph stores", .file = file});
      auto same = adopt_dtype(std::move(given->array), array.dtype(), name);
      if (!same || same->size() != array.size())
        throw Failure(Diag{.message = same ? name + " is " + same->describe() : same.diag().message,
                           .file = file,
                           .expected = array.describe()});
      array = std::move(*same);
      arrays.erase(given);
    }
    if (!arrays.empty())
      throw Failure(Diag{.message = "the graph stores no array '" + arrays[0].name + "'",
                         .file = file,
                         .expected = stored});
  }

  // Compares the buffers that the graph stores to. If `actual` does not have `all` of them, it was computed from a
  // graph before the stage that stores the others.
  std::vector<Comparison> compare(const SlotArrays& actual, bool all = true) {
    std::vector<Comparison> out;
    for (auto& [slot, expected] : expected_) {
      auto a = actual.find(slot);
      if (a == actual.end() && (!all || slot < 0)) continue;
      if (not_compared_.contains(slot)) continue;
      const Array& stored = a == actual.end() ? *buffers_.at(slot) : a->second;
      // a value that a stage stores on several devices has the same elements on each
      const bool has_copies = slot < 0 && expected.size() > 0 && stored.size() > expected.size() &&
                              stored.size() % expected.size() == 0 && stored.dtype() == expected.dtype();
      if (slot < 0 && !has_copies && stored.size() != expected.size()) continue;
      if (!has_copies && stored.size() != expected.size())
        throw Failure("an output has another size in the schedule than in the graph");
      const Array array = without_invalid(has_copies ? differing_copy(stored, expected) : stored.copy(), slot);
      auto compared = compare_arrays(data_name(slot), array, expected, tolerance_for(expected));
      out.push_back(std::move(compared.value_or_throw()));
      if (out.back().passed() || !o_.compare.expect.empty()) continue;
      const auto& sensitive = sensitive_elements()[slot];
      Array rest = array.copy();
      const auto item = size_t(rest.dtype().itemsize());
      for (size_t k = 0; k < sensitive.size(); k++)
        if (sensitive[k]) std::memcpy(rest.data() + k * item, expected.data() + k * item, item);
      const int64_t all = out.back().different;
      compared = compare_arrays(data_name(slot), rest, expected, tolerance_for(expected));
      out.back() = std::move(compared.value_or_throw());
      out.back().left_out = all - out.back().different;
      out.back().recheck_cut = recheck_cut_ && !out.back().passed();
      // where rounding decides many elements, a few perturbations do not show all of these
      if (!out.back().passed() && out.back().left_out * 4 >= expected.size()) {
        out.pop_back();
        if (not_decided_.insert(slot).second)
          report_.notes.push_back(data_name(slot) + " was not compared: rounding decides many of its elements");
      }
    }
    return out;
  }

  // Returns, by slot, which elements change if the roundings of the reference are perturbed.
  std::map<int64_t, std::vector<bool>>& sensitive_elements() {
    if (rechecked_) return sensitive_;
    rechecked_ = true;
    session_.progress("the tensor graph in REF, with perturbed roundings");
    const DeadlineScope scope(double(limit(Limit::RefSeconds)));
    for (int way = 0; way < kPerturbations && !current_deadline().is_over(); way++) {
      auto perturbed = catch_failures([&] { return run_reference(way); });
      if (!perturbed) continue;
      for (auto& [slot, expected] : expected_) {
        auto differs = std::move(
            differing_elements(perturbed->at(slot), expected, tolerance_for(expected)).value_or_throw());
        auto& flags = sensitive_[slot];
        flags.resize(differs.size());
        for (size_t k = 0; k < differs.size(); k++) flags[k] = flags[k] || differs[k];
      }
    }
    recheck_cut_ = current_deadline().is_over();
    return sensitive_;
  }

  // ---- the recorded stages in REF

  // Finds the first stage after which the graph, and the graphs of all later stages, compute something else.
  // `is_wrong`: the kernels do so, too. Else, a stage that differs between right ones is evidence against tgc's import.
  void compare_stages(bool is_wrong) {
    StageDifference out;
    std::vector<Comparison> last, wrong;
    std::set<std::string> names;
    std::vector<std::string> doubtful;  // the stages that differ since the last right one
    for (const GoldenStage& stage : in_.record->stages) {
      const std::string* text = text_of(stage);
      // a second stage of the same name is a stage of another function, whose PARAMs are unknown
      if (!names.insert(stage.name).second || !text) continue;
      session_.progress("the stage '" + stage.name + "' in REF");
      auto read = read_tensor_stage(session_, *in_.record, release_, parameters_, *text, stage.name);
      if (read) draw_buffers_of(*read);  // a stage may add buffers
      Placement ref = place_in_ref();
      Placement& place = is_compiled_ ? *place_ : ref;
      auto arrays = read ? run_tensor_reference(*read, buffers_, options_for(place), {}, &place)
                         : Result<SlotArrays>(read.diag());
      if (arrays && arrays->empty()) continue;  // a graph of values, before the stage that stores them
      std::vector<Comparison> compared;
      if (arrays) {
        auto done = catch_failures([&] { return compare(*arrays, std::ranges::count(read->outputs, -1) == 0); });
        if (done) compared = std::move(*done);
        else arrays = done.diag();
      }
      if (!arrays) {
        out.refused.push_back(stage.name + ": " + arrays.diag().message);
        continue;
      }
      out.stages_run++;
      if (std::ranges::all_of(compared, &Comparison::passed)) {
        for (const std::string& name : doubtful) note_import(name);
        doubtful.clear();
        out.before = stage.name, last = std::move(compared);
        continue;
      }
      if (doubtful.empty()) wrong = compared;
      doubtful.push_back(stage.name);
    }
    if (recorded_ && !is_wrong) {
      for (const std::string& name : doubtful) note_import(name);
    } else if (!doubtful.empty()) {
      out.stage = doubtful[0], out.arrays = std::move(wrong);
    }
    if (out.arrays.empty() && std::ranges::any_of(last, [](auto& c) { return c.left_out > 0; })) out.arrays = last;
    if (!recorded_) report_.outputs = std::move(last);
    report_.stages = std::move(out);
  }
  // A scheduler must not make one kernel of a store and of a read that other iterations of the store change.
  void find_hazard_in_kernels() {
    const Schedule& schedule = recorded_->kernels.schedule;
    for (size_t k = 0; k < schedule.items.size() && report_.hazard.empty(); k++) {
      const ScheduleItem& item = schedule.items[k];
      if (!item.ast.is(Op::SINK)) continue;
      VariableValues variables(item.fixed_vars.begin(), item.fixed_vars.end());
      variables.insert(schedule.var_vals.begin(), schedule.var_vals.end());
      if (auto hazard = find_hazard(item.ast, variables))
        report_.hazard = "kernel " + std::to_string(k) + ": " + hazard->text();
    }
  }
  void note_import(const std::string& stage) {
    report_.notes.push_back("the graph after the stage '" + stage + "' has other values, but what tinygrad made of it "
                            "is right: tgc's import of this stage is wrong");
  }

  void show(const SlotArrays& actual) {
    for (auto& [slot, array] : actual.empty() ? expected_ : actual) {
      if (!expected_.empty() && !expected_.contains(slot)) continue;
      report_.names.push_back(data_name(slot));
      report_.ran.values.push_back(array.copy());
    }
  }

  // Writes the results to the file of --save.
  void save() {
    if (o_.output.save.empty()) return;
    Arrays arrays;
    for (size_t i = 0; i < report_.names.size(); i++)
      arrays.push_back({report_.names[i], report_.ran.values[i].copy()});
    auto saved = write_npz(take_path(o_.output.save, o_, in_.info.name, is_of_recording(in_)), arrays);
    if (!saved && report_.result() != RunReport::Result::Failed) throw Failure(saved.diag());
    if (!saved) report_.not_kept = saved.diag().text();
  }

  const Session& session_;
  const InputGraph& in_;
  const RunOptions& o_;
  ModelReport& report_;
  Release release_;
  bool finds_stage_;
  std::optional<Placement> place_;
  TensorParameters parameters_;
  TensorReference reference_;
  std::optional<RecordedSchedule> recorded_;
  Arrays given_;
  TensorArrays buffers_;
  SlotArrays expected_;
  static constexpr double kMostWork = 3e8;  // of REF, about 2 s
  static constexpr double kSeconds = 10;    // for a record, without --timeout
  bool is_compiled_ = false;                // both sides run compiled, because REF would take too long
  DType coarsest_ = dtypes::float64;
  bool sums_ = false, rechecked_ = false, recheck_cut_ = false;
  std::map<int64_t, std::vector<bool>> sensitive_, invalid_;  // by slot, for each element
  std::set<int64_t> not_compared_, not_decided_;  // slots
  Floats floats_ = Floats::Normal;
};

}  // namespace

ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage) {
  ModelReport report{.model = in.info.name, .is_schedule = in.record != nullptr};
  if (in.record) report.kernel_ids = kernel_ids_text(*in.record);
  auto done = catch_failures([&] {
    check_honoured(finds_stage ? RunTask::BisectSchedule : RunTask::RunSchedule, options, in).value_or_throw();
    RecordedRun(session, in, options, report, finds_stage).run();
    return Unit{};
  });
  if (!done) {
    report.error = done.diag().text(), report.kernel_fault = done.diag().kernel_fault;
    report.ran.values.clear();  // without names
  }
  return report;
}

}  // namespace tgc
