#include "lib/run/run_recorded_schedule.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "lib/run/repro_command.h"
#include "lib/run/run_stages.h"
#include "lib/run/tensor_reference.h"
#include "lib/runtime/npy.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/support/clocks.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

using SlotArrays = std::map<int64_t, Array>;  // by the slot of the buffer

std::string data_name(int64_t slot) { return "data" + std::to_string(slot); }

class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report)
      : session_(session), in_(in), o_(options), report_(report), release_(in.graph->release()) {}

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
    {
      const DeadlineScope limit(o_.device.trial_seconds());
      parameters_ = std::move(read_parameters(session_, record, release_).value_or_throw());
      reference_ = std::move(read_tensor_reference(session_, record, release_, parameters_).value_or_throw());
      if (!record.kernels.empty())
        recorded_ = std::move(read_recorded_schedule(session_, record, release_).value_or_throw());
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
    if (recorded_) report_.outputs = compare(actual);
    if (o_.compare.each_stage || !recorded_) compare_stages();
    show(actual);
    save();
  }

 private:
  // ---- the first content of each buffer of the tensor graph
  void draw_buffers() {
    if (!o_.input.arrays.empty()) given_ = std::move(read_arrays(o_.input.arrays).value_or_throw());
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
      if (reference.inputs[i] >= 0) draw(reference.inputs[i], memories[i].dtype, memories[i].size);
  }
  void draw(int64_t slot, DType dtype, int64_t size) {
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
      if (a == actual.end() && !all) continue;
      const Array& array = a == actual.end() ? *buffers_.at(slot) : a->second;
      if (array.size() != expected.size())
        throw Failure("an output has another size in the schedule than in the graph");
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
  void compare_stages() {
    StageDifference out;
    std::vector<Comparison> last;
    std::set<std::string> names;
    for (const GoldenStage& stage : in_.record->stages) {
      const std::string* text = text_of(stage);
      // a second stage of the same name is a stage of another function, whose PARAMs are unknown
      if (!names.insert(stage.name).second || !text) continue;
      session_.progress("the stage '" + stage.name + "' in REF");
      auto read = read_tensor_stage(session_, *in_.record, release_, parameters_, *text, stage.name);
      if (read) draw_buffers_of(*read);  // a stage may add buffers
      auto arrays = read ? run_tensor_reference(*read, buffers_, options_for(place_in_ref()))
                         : Result<SlotArrays>(read.diag());
      if (arrays && arrays->empty()) continue;  // a graph of values, before the stage that stores them
      if (!arrays) {
        out.refused.push_back(stage.name + ": " + arrays.diag().message);
        continue;
      }
      out.stages_run++;
      auto compared = compare(*arrays, std::ranges::count(read->outputs, -1) == 0);
      const bool differs = !std::ranges::all_of(compared, &Comparison::passed);
      last = compared;
      if (differs || std::ranges::any_of(compared, [](auto& c) { return c.left_out > 0; }))
        out.arrays = std::move(compared);
      if (!differs) {
        out.before = stage.name;
        continue;
      }
      out.stage = stage.name;
      break;
    }
    if (!recorded_) report_.outputs = std::move(last);
    report_.stages = std::move(out);
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
  std::optional<Placement> place_;
  TensorParameters parameters_;
  TensorReference reference_;
  std::optional<RecordedSchedule> recorded_;
  Arrays given_;
  TensorArrays buffers_;
  SlotArrays expected_;
  static constexpr double kMostWork = 3e9;  // of REF, about 20 s
  bool is_compiled_ = false;                // both sides run compiled, because REF would take too long
  DType coarsest_ = dtypes::float64;
  bool sums_ = false, rechecked_ = false, recheck_cut_ = false;
  std::map<int64_t, std::vector<bool>> sensitive_;
  Floats floats_ = Floats::Normal;
};

}  // namespace

ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options) {
  ModelReport report{.model = in.info.name, .is_schedule = in.record != nullptr};
  if (in.record) report.kernel_ids = kernel_ids_text(*in.record);
  auto done = catch_failures([&] {
    RecordedRun(session, in, options, report).run();
    return Unit{};
  });
  if (!done) {
    report.error = done.diag().text(), report.kernel_fault = done.diag().kernel_fault;
    report.ran.values.clear();  // without names
  }
  return report;
}

}  // namespace tgc
