// Compares the results of a recorded schedule, and those of its stages, with the tensor graph in REF.
#include <algorithm>
#include <cstring>

#include "lib/run/recorded_run.h"
#include "lib/run/repro_command.h"
#include "lib/runtime/npz.h"
#include "lib/runtime/ref/rounding.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/limits.h"
#include "lib/validate/hazard.h"
#include "lib/validate/perturb_rounding.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

// Returns `count` copies of an array, one after another.
Array repeated(const Array& array, int64_t count) {
  Array out(array.dtype(), {array.size() * count});
  for (int64_t i = 0; i < count; i++)
    std::memcpy(out.data() + size_t(i) * array.nbytes(), array.data(), array.nbytes());
  return out;
}

// Returns whether `whole` consists of equal parts that have the size of `part`.
bool has_copies_of_size(const Array& whole, const Array& part) {
  const size_t bytes = part.nbytes();
  if (part.size() == 0 || whole.size() <= part.size() || whole.nbytes() % bytes || !(whole.dtype() == part.dtype()))
    return false;
  for (size_t at = bytes; at < whole.nbytes(); at += bytes)
    if (std::memcmp(whole.data(), whole.data() + at, bytes) != 0) return false;
  return true;
}

}  // namespace

void RecordedRun::find_invalid() {
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
Array RecordedRun::without_invalid(const Array& array, int64_t slot) const {
  Array out = array.copy();
  auto it = invalid_.find(slot);
  if (it == invalid_.end()) return out;
  const Array& expected = expected_.at(slot);
  const auto item = size_t(out.dtype().itemsize());
  for (size_t k = 0; k < it->second.size(); k++)
    if (it->second[k]) std::memcpy(out.data() + k * item, expected.data() + k * item, item);
  return out;
}

void RecordedRun::note_tolerance() {
  auto note = [&](UOp ast) {
    if (!ast.is(Op::SINK)) return;
    sums_ |= adds_up(ast);
    if (DType d = coarsest_rounding(ast); d.itemsize() && d.priority() < coarsest_.priority()) coarsest_ = d;
  };
  if (recorded_)
    for (const ScheduleItem& item : recorded_->kernels.schedule.items) note(item.ast);
  for (const TensorKernel& k : reference_.program.kernels) note(k.ast);
}

ToleranceOptions RecordedRun::tolerance_for(const Array& expected) const {
  const auto& asked = o_.compare.tolerance;
  if (asked.rtol || asked.atol || asked.ulp || !o_.compare.expect.empty()) return asked;
  return tolerance_between_devices(expected, coarsest_, sums_);
}

// Replaces the arrays that REF computed by those of --expect, which must be arrays of the same buffers.
void RecordedRun::take_expected() {
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

void RecordedRun::compare_with_reference(const SlotArrays& actual) {
  expected_ = run_reference();
  if (!o_.compare.expect.empty()) take_expected();
  note_tolerance();
  find_invalid();
  if (recorded_) report_.outputs = compare(actual);
  const bool differs = !std::ranges::all_of(report_.outputs, &Comparison::passed);
  if (o_.compare.each_stage || !recorded_ || (differs && finds_stage_)) compare_stages(differs);
}

// Compares the buffers that the graph stores to. If `actual` does not have `all` of them, it was computed from a
// graph before the stage that stores the others.
std::vector<Comparison> RecordedRun::compare(const SlotArrays& actual, bool all) {
  std::vector<Comparison> out;
  for (auto& [slot, expected] : expected_) {
    auto a = actual.find(slot);
    if (a == actual.end() && (!all || slot < 0)) continue;
    if (not_compared_.contains(slot)) continue;
    const Array& found = a == actual.end() ? *buffers_.at(slot) : a->second;
    // a value that the graph has on each device may be stored in parts
    const bool is_in_parts = slot < 0 && has_copies_of_size(expected, found);
    const Array stored = is_in_parts ? repeated(found, expected.size() / found.size()) : found.copy();
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
std::map<int64_t, std::vector<bool>>& RecordedRun::sensitive_elements() {
  if (rechecked_) return sensitive_;
  rechecked_ = true;
  session_.progress("the tensor graph of " + in_.info.name + ", with perturbed roundings");
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

// Finds the first stage after which the graph, and the graphs of all later stages, compute something else.
// `is_wrong`: the kernels do so, too. Else, a stage that differs between right ones is evidence against tgc's import.
void RecordedRun::compare_stages(bool is_wrong) {
  StageDifference out;
  std::vector<Comparison> last, wrong;
  std::set<std::string> names;
  std::vector<std::string> doubtful;  // the stages that differ since the last right one
  for (const GoldenStage& stage : in_.record->stages) {
    const std::string* text = text_of(stage);
    // a second stage of the same name is a stage of another function, whose PARAMs are unknown
    if (!names.insert(stage.name).second || !text) continue;
    session_.progress("the stage '" + stage.name + "' of " + in_.info.name);
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
    if (!arrays && arrays.diag().kernel_fault) {
      out.stages_run++;
      doubtful.push_back(stage.name);
      continue;
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

// Finds the first stage with the fault of a kernel that cannot run to its end, such as an access out of bounds.
void RecordedRun::find_faulty_stage(const Diag& fault) {
  report_.error = fault.text(), report_.kernel_fault = true;
  expected_ = run_reference();
  note_tolerance();
  compare_stages(true);
}

// A scheduler must not make one kernel of a store and of a read that other iterations of the store change. Arguments
// of a kernel may be parts of one buffer. REF may load for all iterations before it stores, so right results decide
// nothing. A few iterations are no fault if the read is through the argument of the store: tinygrad unrolls such loops,
// and its counters of random numbers rely on this.
void RecordedRun::find_hazard_in_kernels(bool differs) {
  const Schedule& schedule = recorded_->kernels.schedule;
  for (size_t k = 0; k < schedule.items.size() && report_.hazard.empty(); k++) {
    const ScheduleItem& item = schedule.items[k];
    if (!item.ast.is(Op::SINK) || work_of(item.ast) > kMostWork) continue;
    VariableValues variables(item.fixed_vars.begin(), item.fixed_vars.end());
    variables.insert(schedule.var_vals.begin(), schedule.var_vals.end());
    std::vector<ArgumentPlace> places;
    for (size_t number : item.buffers) {
      const ScheduleBuffer& b = schedule.buffers[number];
      places.push_back({b.view_of.value_or(number), b.offset});
    }
    constexpr int64_t kUnrolled = 4;  // iterations of a loop that tinygrad unrolls
    auto hazard = find_hazard(item.ast, variables, places, !differs);
    if (!hazard && !differs) {
      hazard = find_hazard(item.ast, variables, places);
      if (hazard && (!hazard->stores_first || hazard->iterations <= kUnrolled)) hazard.reset();
    }
    if (!hazard) continue;
    const std::string text = "kernel " + std::to_string(k) + ": " + hazard->text();
    if (hazard->stores_first || differs) report_.hazard = text;
    else report_.notes.push_back(text + ", but is right in the order of the loops");
  }
}

void RecordedRun::note_import(const std::string& stage) {
  report_.notes.push_back("the graph after the stage '" + stage + "' has other values, but what tinygrad made of it "
                          "is right: tgc's import of this stage is wrong");
}

}  // namespace tgc
