// StageRunner runs the graphs of stages in REF at sample inputs, and compares what they store with what the AST stores.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/execute/execution.h"
#include "lib/runtime/array.h"
#include "lib/uop/graph.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {

struct StageTrial {
  using ElementIndices = std::map<std::string, std::vector<int64_t>>;
  Arrays inputs, expected_arrays;  // `expected_arrays` is empty if the AST is too large for REF
  std::map<std::string, int64_t> variables;
  std::string ref_notes = {};
  // by flat indices: the elements that the AST stores there
  mutable std::map<ElementIndices, Arrays> computed_elements = {};
};

class StageRunner {
 public:
  // `ast`, and the graphs and lists that the other functions take, are in tgc's IR.
  explicit StageRunner(UOp ast) : ast_(ast) {}
  // Makes REF compute only few elements of kernels that are not small. Used if all rewrites of the kernel are proven.
  void limit_evaluations() { max_evaluations_ = kReducedMaxEvaluations; }
  // Returns true if the kernel is so small that REF computes all elements for several draws of inputs.
  bool is_small() const;

  // Compares the graphs before and after a stage or rewrite with the AST. Returns "" if `result` stores what the AST
  // stores, or differs in the same way as `input`. Returns the difference if only `result` differs; nullopt if this is
  // unknown, or if both differ in other ways.
  std::optional<std::string> stage_difference(UOp input, UOp result);
  // Returns "" if the graph, or the linear list, stores what the AST stores; else the difference; nullopt if it is
  // unknown. `most_trials` is the largest number of draws of inputs to try.
  std::optional<std::string> difference_from_ast(UOp graph, size_t most_trials = 1);
  std::optional<std::string> difference_from_ast(std::span<const UOp> list, size_t most_trials = 1);

  // Returns the usual inputs; null if REF cannot compare graphs with the AST.
  const StageTrial* default_trial() { return can_decide() ? make_trial(0) : nullptr; }
  const InputDistribution& distribution() const {
    if (!distribution_) distribution_ = make_input_distribution(ast_);
    return *distribution_;
  }
  // Returns a trial with these inputs and, unless the AST is too large for REF, the arrays that the AST stores for
  // them. Returns nullopt if the AST may be undefined for them, or if REF cannot run it.
  std::optional<StageTrial> stage_trial_of(Arrays inputs, std::map<std::string, int64_t> variables) const;
  // Does what difference_from_ast() does, for the inputs of `t`. Reports floats as different only if both are finite,
  // and neither rounding nor the order of sums explains the difference.
  std::optional<std::string> unexplained_difference(const StageTrial& t, UOp graph) const;
  std::optional<std::string> unexplained_difference(const StageTrial& t, std::span<const UOp> list) const;

 private:
  static constexpr double kMaxEvaluations = 4e6;
  static constexpr double kReducedMaxEvaluations = 1e5;
  using Trial = StageTrial;
  using ElementIndices = StageTrial::ElementIndices;
  template <class Code>
  std::optional<std::string> unexplained_difference_of(const Trial& t, const Code& code) const;
  template <class Code>
  std::optional<std::string> compare_with_ast(const Code& code, size_t most_trials);
  template <class Code>
  std::string difference_of_all_elements(const Trial& t, const Code& code);
  std::string difference_of_shortened_loops(const Trial& t, UOp graph);
  std::string difference_of_shortened_loops(const Trial& t, UOp graph, double work);
  template <class Code>
  ExecutionResult run_code(const Trial& t, const Code& code) const;
  const Arrays& expected_arrays_at(const Trial& t, const ElementIndices& places) const;
  const Trial* make_trial(size_t number);
  void run_ast(Trial& t) const;
  bool can_decide();

  UOp ast_;
  double max_evaluations_ = kMaxEvaluations;
  std::deque<Trial> stage_trials_;
  mutable std::optional<InputDistribution> distribution_;
  std::optional<bool> can_decide_;
  std::map<std::pair<const Graph*, uint32_t>, std::optional<std::string>> known_differences_;
};

// Returns, by the number of each DEFINE_GLOBAL of known size, how many elements its array has when REF evaluates sides
// of rewrites: large arrays become smaller, and offsets are taken modulo the size.
std::map<int64_t, int64_t> memory_sizes(UOp ast);

}  // namespace tgc
