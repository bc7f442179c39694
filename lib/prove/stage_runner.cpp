#include "lib/prove/stage_runner.h"

#include <algorithm>

#include "lib/execute/execution.h"
#include "lib/prove/side_evaluator.h"
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

constexpr double kSmallPart = 0.075;  // of the work of one run: a kernel with less is run at several draws of inputs
constexpr size_t kMostTrials = 3;

// Describes the first element that differs. The arrays hold the elements at `places`, or all.
std::string first_difference(const std::vector<Comparison>& arrays,
                             const std::map<std::string, std::vector<int64_t>>& places = {}) {
  auto wrong = std::ranges::find_if_not(arrays, &Comparison::passed);
  if (wrong == arrays.end()) return "";
  const ElementDifference& e = *wrong->first;
  auto at = places.find(wrong->name);
  const int64_t index = at == places.end() ? e.index : at->second.at(size_t(e.index));
  return wrong->name + "[" + std::to_string(index) + "] = " + e.actual + ", not " + e.expected + "; " +
         std::to_string(wrong->different) + " of " + std::to_string(wrong->size) + " elements differ";
}

std::vector<UOp> nodes_of(UOp graph) { return toposort(graph); }
std::span<const UOp> nodes_of(std::span<const UOp> list) { return list; }

// Returns whether a value that the AST stores depends on another element of the same array. Then the order of the loops
// decides the values, which is the schedule's affair.
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

// Returns whether the arrays of the kernel are too large to be copied for each run.
bool has_large_arrays(UOp ast) {
  constexpr int64_t kMostBytes = 64 << 20;
  int64_t bytes = 0;
  for (const BufferSpec& b : buffers_of(toposort(ast)))
    if (b.size < 0 || __builtin_add_overflow(bytes, b.size * b.dtype.itemsize(), &bytes)) return true;
  return bytes > kMostBytes;
}

}  // namespace

bool StageRunner::can_decide() {
  if (!can_decide_) can_decide_ = !reads_other_stored_elements(ast_) && !has_large_arrays(ast_) && trial(0);
  return *can_decide_;
}

// Trial 0 has usual numbers. In the others, integers have all sizes, unless they decide an address. Arrays that the AST
// only stores are filled, too, so that an element that a graph should store, but does not, is wrong.
const StageRunner::Trial* StageRunner::trial(size_t number) {
  while (trials_.size() <= number) {
    auto made = catch_failures([&] {
      const size_t n = trials_.size();
      Trial t;
      auto kernel = std::move(Executable::for_ref(ast_).value_or_throw());
      InputDistribution draw = input_distribution(ast_, n);
      t.inputs = std::move(input_arrays(kernel.buffers(), {}, "", draw).value_or_throw());
      for (const BufferSpec& b : kernel.buffers())
        for (NamedArray& a : t.inputs)  // small elements may be parts of words
          if (!b.read && b.dtype.itemsize() >= 4 && a.name == b.name()) fill_random(a.array, 7 + n, a.name);
      if (n > 0) {
        Arrays wide = copy_of(t.inputs);
        (void)redraw_inputs(ast_, InputSet::AllSizes, draw, {}, wide);
        for (const BufferSpec& b : kernel.buffers())
          for (size_t i = 0; i < wide.size(); i++)
            if (b.read && wide[i].name == b.name() && !dtypes::is_float(b.dtype))
              t.inputs[i].array = wide[i].array.copy();
      }
      for (const VariableSpec& v : kernel.variables())
        t.variables[v.name] = n == 0 ? v.max : n == 1 ? v.min : v.min + (v.max - v.min) / 2;
      if (n > 0 || work_of(ast_) <= work_) run_ast(t);
      return t;
    });
    if (!made) return nullptr;
    trials_.push_back(std::move(*made));
  }
  return &trials_[number];
}

void StageRunner::run_ast(Trial& t) const {
  const ExecuteOptions here{.in_process = true};
  Execution done = std::move(ReferenceRunner(t.inputs, t.variables, here).run(ast_).value_or_throw());
  t.expected = std::move(done.outputs), t.notes = done.notes;
}

std::optional<std::string> StageRunner::difference(UOp input, UOp result) {
  auto out = difference_from_ast(result);
  if (!out || out->empty()) return out;
  const auto earlier = difference_from_ast(input);
  if (earlier == out) return "";  // the stage keeps the values that an earlier stage made wrong
  return earlier == "" ? out : std::nullopt;
}

std::optional<std::string> StageRunner::difference_from_ast(UOp graph, size_t most_trials) {
  if (!graph || !graph.is(Op::SINK)) return std::nullopt;
  auto [it, is_new] = known_.try_emplace({&graph.graph(), graph.id() * kMostTrials + uint32_t(most_trials)});
  if (is_new) it->second = compare(graph, most_trials);
  return it->second;
}

std::optional<std::string> StageRunner::difference_from_ast(std::span<const UOp> list, size_t most_trials) {
  if (list.empty() || !can_decide()) return std::nullopt;
  // the list cannot be shortened
  if (trials_[0].expected.empty() && work_of(ast_) <= kWork && !catch_failures([&] { return run_ast(trials_[0]), 0; }))
    return std::nullopt;
  return compare(list, most_trials);
}

namespace {

// Sets all elements of an array to the number that `text` is, as counterexamples print it. Returns false if it is none.
bool fill_with(Array& a, const std::string& text) {
  const DType d = a.dtype();
  char* end = nullptr;
  Const value(int64_t(0));
  if (dtypes::is_float(d)) value = Const(std::strtod(text.c_str(), &end));
  else if (text == "True" || text == "False") return fill_with(a, text == "True" ? "1" : "0");
  else if (text.starts_with('-')) value = Const(int64_t(std::strtoll(text.c_str(), &end, 10)));
  else value = Const(Int(std::strtoull(text.c_str(), &end, 10)));
  if (text.empty() || *end) return false;
  for (int64_t i = 0; i < a.size(); i++) put_element(a, size_t(i), value);
  return true;
}

}  // namespace

std::optional<std::string> StageRunner::difference_at(UOp graph, const std::map<std::string, std::string>& values) {
  if (!graph || !graph.is(Op::SINK) || !can_decide() || trials_[0].expected.empty()) return std::nullopt;
  auto found = catch_failures([&]() -> std::optional<std::string> {
    Trial t{.inputs = copy_of(trials_[0].inputs), .expected = {}, .variables = trials_[0].variables};
    bool is_changed = false;
    for (NamedArray& a : t.inputs)
      if (auto v = values.find(a.name); v != values.end()) is_changed |= fill_with(a.array, v->second);
    if (!is_changed) return std::nullopt;
    const ExecuteOptions here{.in_process = true};
    t.expected = std::move(ReferenceRunner(t.inputs, t.variables, here).run(ast_).value_or_throw().outputs);
    return difference_of_all(t, graph);
  });
  return found ? *found : std::nullopt;
}

bool StageRunner::is_small() const { return work_of(ast_) <= kSmallPart * work_; }

template <class Code>
std::optional<std::string> StageRunner::compare(const Code& code, size_t most_trials) {
  if (!can_decide()) return std::nullopt;
  std::optional<std::string> out;
  for (size_t n = 0; n < (is_small() ? std::min(most_trials, kMostTrials) : 1); n++) {
    const Trial* t = trial(n);
    if (!t) break;
    auto found = catch_failures([&] { return difference_of_all(*t, code); });
    if (found) out = *found;
    else if (found.diag().kernel_fault) out = found.diag().message;  // an access that is out of bounds differs, too
    else return out;
    if (!out->empty()) break;
  }
  return out;
}

std::string StageRunner::difference_of_parts(const Trial& t, UOp graph) {
  if (work_ < kWork) {  // one iteration may need more
    auto few = catch_failures([&] { return difference_of_parts(t, graph, work_); });
    if (few || few.diag().kernel_fault) return std::move(few).value_or_throw();
  }
  return difference_of_parts(t, graph, kWork);
}

const Arrays& StageRunner::expected_at(const Trial& t, const Places& places) {
  if (auto known = t.parts.find(places); known != t.parts.end()) return known->second;
  Arrays made = std::move(values_at(ast_, t.inputs, t.variables, places, true).value_or_throw());
  return t.parts.emplace(places, std::move(made)).first->second;
}

std::string StageRunner::difference_of_parts(const Trial& t, UOp graph, double work) {
  constexpr size_t kMostStored = 256;  // elements of each array
  std::string difference;
  for (bool at_end : {false, true}) {  // the first iterations of the loops, and the last ones
    Graph scratch(ast_.graph().settings());
    const UOp shorter = truncate_loops(scratch, graph, work, at_end);
    Result<Stored> stored = stored_in_ref(shorter, t.inputs, t.variables, kMostStored, true);
    if (!stored && at_end && !stored.diag().kernel_fault) break;
    const Arrays& expected = expected_at(t, stored.value_or_throw().places);
    difference = first_difference(compare_outputs(ast_, stored->values, expected).value_or_throw(), stored->places);
    if (!difference.empty()) break;
  }
  return difference;
}

template <class Code>
std::string StageRunner::difference_of_all(const Trial& t, const Code& code) {
  if constexpr (std::is_same_v<Code, UOp>) {
    if (t.expected.empty() || work_of(code) > work_) return difference_of_parts(t, code);
  } else if (t.expected.empty()) {
    throw Failure("the kernel is too large for REF");
  }
  const ExecuteOptions here{.in_process = true};
  const ReferenceRunner ref(t.inputs, t.variables, here);
  const Arrays own = with_dtypes_of(t.inputs, buffers_of(nodes_of(code)));
  Execution done = std::move(ReferenceRunner(own, t.variables, here).run(code).value_or_throw());
  Arrays stored = with_dtypes_of(done.outputs, buffers_of(toposort(ast_)));
  for (const NamedArray& a : t.expected)  // an array that the graph does not store keeps its elements
    if (!find_array(stored, a.name)) stored.push_back({a.name, find_array(t.inputs, a.name)->copy()});
  for (const NamedArray& a : stored) {
    const Array* begin = find_array(t.inputs, a.name);
    if (find_array(t.expected, a.name) || !begin || begin->nbytes() != a.array.nbytes()) continue;
    if (!std::equal(a.array.data(), a.array.data() + a.array.nbytes(), begin->data()))
      return a.name + " is stored to, which the AST does not";
  }
  std::string out = first_difference(ref.compare(ast_, stored, t.expected).value_or_throw());
  if (!out.empty()) return out;
  constexpr std::string_view kRace = "to an element already stored to";
  if (done.notes.find(kRace) != std::string::npos && t.notes.find(kRace) == std::string::npos)
    return "several threads store different values to one element";
  return out;
}

}  // namespace tgc
