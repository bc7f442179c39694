#include "lib/prove/stage_runner.h"

#include <algorithm>
#include <cmath>

#include "lib/execute/execution.h"
#include "lib/run/run_stages.h"
#include "lib/runtime/random.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"
#include "lib/validate/reference_sample.h"
#include "lib/validate/truncate_loops.h"

namespace tgc {

std::map<int64_t, int64_t> memory_sizes(UOp ast) {
  constexpr int64_t kMostElements = 4096;
  std::map<int64_t, int64_t> out;
  for (UOp u : toposort(ast))
    if (u.is(Op::DEFINE_GLOBAL) && u.arg().is_int() && u.dtype().size() > 0)
      out[u.arg().small_int()] = std::min(kMostElements, u.dtype().size() * u.dtype().base().count());
  return out;
}

namespace {

// a kernel is small if its AST needs at most this part of the allowed work
constexpr double kSmallWorkFraction = 0.075;
constexpr size_t kMostTrials = 3;
constexpr const char* kRaceText = "different values are stored to one element";
constexpr size_t kMaxStoredSamples = 256;

// Describes the first element that differs. The compared arrays have only the elements with the flat indices `places`
// or, if there are none, all elements.
std::string first_difference(const std::vector<Comparison>& arrays,
                             const std::map<std::string, std::vector<int64_t>>& places = {}) {
  auto wrong = std::ranges::find_if_not(arrays, &Comparison::has_passed);
  if (wrong == arrays.end()) return "";
  const ElementDifference& e = *wrong->first_difference;
  auto at = places.find(wrong->name);
  const int64_t index = at == places.end() ? e.flat_index : at->second.at(size_t(e.flat_index));
  return wrong->name + "[" + std::to_string(index) + "] = " + e.actual + ", not " + e.expected + "; " +
         std::to_string(wrong->num_different) + " of " + std::to_string(wrong->num_elements) + " elements differ";
}

std::vector<UOp> nodes_of(UOp graph) { return toposort(graph); }
std::span<const UOp> nodes_of(std::span<const UOp> list) { return list; }

// Returns true if a value that the AST stores may depend on another element of the same array. Then the stored values
// may depend on the order of the iterations.
bool reads_other_stored_elements(UOp ast) {
  for (UOp store : toposort(ast)) {
    if (!store.is(Op::STORE) || !store.src(0).is(Op::INDEX)) continue;
    const UOp target = store.src(0);
    if (!target.src(0).is(Op::DEFINE_GLOBAL)) continue;
    for (UOp u : toposort(store.src(1)))
      if (u.is(Op::INDEX) && u.src(0) == target.src(0) && !(u.src(1) == target.src(1))) return true;
  }
  return false;
}

// Describes the first element of an array that clearly differs: different integers, or finite floats whose difference
// rounding does not explain.
std::string first_clear_difference(const std::string& name, const Array& actual, const Array& expected,
                                   const Tolerance& tolerance, const std::vector<int64_t>* places) {
  const DType d = expected.dtype();
  const double relative = !dtypes::is_float(d) ? 0 : d.itemsize() >= 4 ? 1e-3 : d.itemsize() == 2 ? 3e-2 : 0.2;
  for (int64_t i = 0; i < expected.size(); i++) {
    const double a = element_as_double(actual, i), e = element_as_double(expected, i);
    if (dtypes::is_float(d)) {
      const double most = std::max(std::fabs(a), std::fabs(e));
      if (!std::isfinite(a) || !std::isfinite(e) || std::fabs(a - e) <= relative * most + tolerance.atol) continue;
    } else if (element_text(actual, i) == element_text(expected, i)) {
      continue;
    }
    return name + "[" + std::to_string(places ? places->at(size_t(i)) : i) +
           "] = " + element_text(actual, i) + ", not " + element_text(expected, i);
  }
  return "";
}

std::string first_clear_difference(const std::vector<Comparison>& compared, const Arrays& actual,
                                   const Arrays& expected, const StageTrial::ElementIndices& places = {}) {
  for (const Comparison& c : compared) {
    if (c.has_passed()) continue;
    const Array *a = find_array(actual, c.name), *e = find_array(expected, c.name);
    const auto at = places.find(c.name);
    if (!a || !e) continue;
    std::string out = first_clear_difference(c.name, *a, *e, c.tolerance, at == places.end() ? nullptr : &at->second);
    if (!out.empty()) return out;
  }
  return "";
}

bool may_be_undefined(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) {
    if (u.is(Op::CAST)) return dtypes::is_float(u.src(0).dtype().base()) && dtypes::is_int(u.dtype().base());
    return u.in({Op::IDIV, Op::MOD, Op::SHL, Op::SHR}) && !u.src(1).is_const();
  });
}

bool has_large_arrays(UOp ast) {
  constexpr int64_t kMostBytes = 64 << 20;
  int64_t bytes = 0;
  for (const BufferSpec& b : buffers_of_nodes(toposort(ast)))
    if (b.num_elements < 0 || __builtin_add_overflow(bytes, b.num_elements * b.dtype.itemsize(), &bytes)) return true;
  return bytes > kMostBytes;
}

}  // namespace

bool StageRunner::can_decide() {
  if (!can_decide_) can_decide_ = !reads_other_stored_elements(ast_) && !has_large_arrays(ast_) && make_trial(0);
  return *can_decide_;
}

// Trial 0 has the small numbers of make_input_arrays(). In other trials, integers have all magnitudes, except in
// constrained_inputs(). Most arrays that the AST only stores to are filled, too, so that a missing store leaves a wrong
// value.
const StageRunner::Trial* StageRunner::make_trial(size_t number) {
  while (stage_trials_.size() <= number) {
    auto made = catch_failures([&] {
      const size_t n = stage_trials_.size();
      Trial t;
      auto kernel = std::move(Executable::make_for_ref(ast_).value_or_throw());
      InputDistribution draw = distribution();
      draw.seed = n;
      t.inputs = std::move(make_input_arrays(kernel.buffers(), {}, "", draw).value_or_throw());
      for (const BufferSpec& b : kernel.buffers())
        for (NamedArray& a : t.inputs)  // skip smaller elements, because a graph may store several of them at once
          if (!b.is_read && b.dtype.itemsize() >= 4 && a.name == b.name()) fill_random(a.array, 7 + n, a.name);
      if (n > 0) {
        Arrays wide = copy_arrays(t.inputs);
        (void)redraw_inputs(ast_, InputSet::AllSizes, draw, {}, wide);
        for (const BufferSpec& b : kernel.buffers())
          for (size_t i = 0; i < wide.size(); i++)
            if (b.is_read && wide[i].name == b.name() && !dtypes::is_float(b.dtype))
              t.inputs[i].array = wide[i].array.copy();
      }
      for (const VariableSpec& v : kernel.variables())
        t.variables[v.name] = n == 0 ? v.max : n == 1 ? v.min : v.min + (v.max - v.min) / 2;
      if (n > 0 || work_of(ast_) <= max_evaluations_) run_ast(t);
      return t;
    });
    if (!made) return nullptr;
    stage_trials_.push_back(std::move(*made));
  }
  return &stage_trials_[number];
}

void StageRunner::run_ast(Trial& t) const {
  const ExecuteOptions here{.should_run_in_process = true};
  ExecutionResult done = std::move(ReferenceRunner(t.inputs, t.variables, here).run_reference(ast_).value_or_throw());
  t.expected_arrays = std::move(done.outputs), t.ref_notes = done.notes;
}

std::optional<std::string> StageRunner::stage_difference(UOp input, UOp result) {
  auto out = difference_from_ast(result);
  if (!out || out->empty()) return out;
  const auto earlier = difference_from_ast(input);
  if (earlier == out) return "";
  return earlier == "" ? out : std::nullopt;
}

std::optional<std::string> StageRunner::difference_from_ast(UOp graph, size_t most_trials) {
  if (!graph || !graph.is(Op::SINK)) return std::nullopt;
  auto [it, is_new] =
      known_differences_.try_emplace({&graph.graph(), graph.id() * kMostTrials + uint32_t(most_trials)});
  if (is_new) it->second = compare_with_ast(graph, most_trials);
  return it->second;
}

std::optional<std::string> StageRunner::difference_from_ast(std::span<const UOp> list, size_t most_trials) {
  if (list.empty() || !can_decide()) return std::nullopt;
  // the loops of a list cannot be shortened, so all expected values are needed
  if (stage_trials_[0].expected_arrays.empty() && work_of(ast_) <= kMaxEvaluations &&
      !catch_failures([&] { return run_ast(stage_trials_[0]), 0; }))
    return std::nullopt;
  return compare_with_ast(list, most_trials);
}

bool StageRunner::is_small() const { return work_of(ast_) <= kSmallWorkFraction * max_evaluations_; }

template <class Code>
std::optional<std::string> StageRunner::compare_with_ast(const Code& code, size_t most_trials) {
  if (!can_decide()) return std::nullopt;
  std::optional<std::string> out;
  for (size_t n = 0; n < (is_small() ? std::min(most_trials, kMostTrials) : 1); n++) {
    const Trial* t = make_trial(n);
    if (!t) break;
    auto found = catch_failures([&] { return difference_of_all_elements(*t, code); });
    if (found) out = *found;
    else if (found.diag().is_kernel_fault) out = found.diag().message;
    else return out;
    if (!out->empty()) break;
  }
  return out;
}

std::optional<StageTrial> StageRunner::stage_trial_of(Arrays inputs, std::map<std::string, int64_t> variables) const {
  Trial t{.inputs = std::move(inputs), .expected_arrays = {}, .variables = std::move(variables)};
  if (work_of(ast_) > max_evaluations_) return may_be_undefined(ast_) ? std::nullopt : std::optional(std::move(t));
  constexpr std::string_view kNan = " of a negative number";  // the end of REF's note on a root or logarithm
  if (!catch_failures([&] { return run_ast(t), 0; })) return std::nullopt;
  if (t.ref_notes.empty() || (t.ref_notes.ends_with(kNan) && t.ref_notes.find(',') == std::string::npos)) return t;
  return std::nullopt;
}

template <class Code>
std::optional<std::string> StageRunner::unexplained_difference_of(const Trial& t, const Code& code) const {
  auto found = catch_failures([&]() -> std::string {
    if constexpr (std::is_same_v<Code, UOp>)
      if (t.expected_arrays.empty() || work_of(code) > max_evaluations_) {
        Graph scratch(ast_.graph().settings());
        const UOp shorter = truncate_loops(scratch, code, kMaxEvaluations);
        auto run = sample_stores_in_ref(shorter, t.inputs, t.variables, kMaxStoredSamples, true);
        const StoredSample& stored = run.value_or_throw();
        const Arrays& expected = expected_arrays_at(t, stored.flat_indices);
        const auto compared = compare_outputs(ast_, stored.values, expected).value_or_throw();
        if (stored.has_overlaps) return kRaceText;
        return first_clear_difference(compared, stored.values, expected, stored.flat_indices);
      }
    if (t.expected_arrays.empty()) throw Failure("the kernel is too large for REF");
    const ReferenceRunner ref(t.inputs, t.variables, {.should_run_in_process = true});
    Arrays settled;
    const auto compared = ref.compare_arrays(ast_, run_code(t, code).outputs, t.expected_arrays,
                                             {.should_accept_rounding = true}, Recheck::Always, &settled)
                              .value_or_throw();
    return first_clear_difference(compared, settled, t.expected_arrays);
  });
  if (found) return *found;
  return found.diag().is_kernel_fault ? std::optional(found.diag().message) : std::nullopt;
}

std::optional<std::string> StageRunner::unexplained_difference(const StageTrial& t, UOp graph) const {
  return graph && graph.is(Op::SINK) ? unexplained_difference_of(t, graph) : std::nullopt;
}
std::optional<std::string> StageRunner::unexplained_difference(const StageTrial& t, std::span<const UOp> list) const {
  return list.empty() ? std::nullopt : unexplained_difference_of(t, list);
}

std::string StageRunner::difference_of_shortened_loops(const Trial& t, UOp graph) {
  if (max_evaluations_ < kMaxEvaluations) {
    auto few = catch_failures([&] { return difference_of_shortened_loops(t, graph, max_evaluations_); });
    if (few || few.diag().is_kernel_fault) return std::move(few).value_or_throw();
  }
  return difference_of_shortened_loops(t, graph, kMaxEvaluations);
}

const Arrays& StageRunner::expected_arrays_at(const Trial& t, const ElementIndices& places) const {
  if (auto known = t.computed_elements.find(places); known != t.computed_elements.end()) return known->second;
  Arrays made = std::move(compute_values_at(ast_, t.inputs, t.variables, places, true).value_or_throw());
  return t.computed_elements.emplace(places, std::move(made)).first->second;
}

std::string StageRunner::difference_of_shortened_loops(const Trial& t, UOp graph, double work) {
  std::string difference;
  for (bool at_end : {false, true}) {
    Graph scratch(ast_.graph().settings());
    const UOp shorter = truncate_loops(scratch, graph, work, at_end);
    Result<StoredSample> stored = sample_stores_in_ref(shorter, t.inputs, t.variables, kMaxStoredSamples, true);
    if (!stored && at_end && !stored.diag().is_kernel_fault) break;
    const Arrays& expected = expected_arrays_at(t, stored.value_or_throw().flat_indices);
    difference =
        first_difference(compare_outputs(ast_, stored->values, expected).value_or_throw(), stored->flat_indices);
    if (difference.empty() && stored->has_overlaps) difference = kRaceText;  // the AST stores each element only once
    if (!difference.empty()) break;
  }
  return difference;
}

// Runs a graph or a list. Returns the arrays that it stores and, for arrays that only the AST stores to, the inputs.
template <class Code>
ExecutionResult StageRunner::run_code(const Trial& t, const Code& code) const {
  const Arrays own = arrays_with_dtypes_of(t.inputs, buffers_of_nodes(nodes_of(code)));
  ExecutionResult done = std::move(
      ReferenceRunner(own, t.variables, {.should_run_in_process = true}).run_reference(code).value_or_throw());
  done.outputs = arrays_with_dtypes_of(done.outputs, buffers_of_nodes(toposort(ast_)));
  for (const NamedArray& a : t.expected_arrays)
    if (!find_array(done.outputs, a.name)) done.outputs.push_back({a.name, find_array(t.inputs, a.name)->copy()});
  return done;
}

template <class Code>
std::string StageRunner::difference_of_all_elements(const Trial& t, const Code& code) {
  if constexpr (std::is_same_v<Code, UOp>) {
    if (t.expected_arrays.empty() || work_of(code) > max_evaluations_) return difference_of_shortened_loops(t, code);
  } else if (t.expected_arrays.empty()) {
    throw Failure("the kernel is too large for REF");
  }
  const ReferenceRunner ref(t.inputs, t.variables, {.should_run_in_process = true});
  const ExecutionResult done = run_code(t, code);
  const Arrays& stored = done.outputs;
  for (const NamedArray& a : stored) {
    const Array* begin = find_array(t.inputs, a.name);
    if (find_array(t.expected_arrays, a.name) || !begin || begin->nbytes() != a.array.nbytes()) continue;
    if (!std::equal(a.array.data(), a.array.data() + a.array.nbytes(), begin->data()))
      return a.name + " is stored to, which the AST does not";
  }
  std::string out = first_difference(ref.compare_arrays(ast_, stored, t.expected_arrays).value_or_throw());
  if (!out.empty()) return out;
  constexpr std::string_view kNote = "to an element already stored to";
  if (done.notes.find(kNote) != std::string::npos && t.ref_notes.find(kNote) == std::string::npos) return kRaceText;
  return out;
}

}  // namespace tgc
