// Runs the graphs of stages in REF at sample inputs, and compares what they store with what the kernel's AST stores.
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

namespace tgc {

// Values of a kernel's inputs, and what the AST stores for them.
struct StageTrial {
  using Places = std::map<std::string, std::vector<int64_t>>;
  Arrays inputs, expected;  // `expected` is empty if the AST is too large for REF
  std::map<std::string, int64_t> variables;
  std::string notes = {};  // REF's notes about the AST
  mutable std::map<Places, Arrays> parts = {};  // elements of the AST's arrays that were computed so far
};

class StageRunner {
 public:
  // `ast` is in tgc's IR; so are the graphs and lists of the other functions.
  explicit StageRunner(UOp ast) : ast_(ast) {}
  // Makes REF compute few elements of kernels that are not small, as a check of what is proven.
  void compute_few() { work_ = kLittleWork; }
  // Returns whether a run computes all elements, at several draws of inputs.
  bool is_small() const;

  // Compares what a stage's graphs store with what the kernel's AST stores. Returns "" if `result` stores the same, or
  // differs as `input` does; else how it differs, if `input` stores the same; nullopt if REF cannot tell.
  std::optional<std::string> difference(UOp input, UOp result);
  // Returns "" if the graph, or the linear list, stores what the AST stores; else how it differs, which may be an
  // access that is out of bounds; nullopt if REF cannot tell. `most_trials`: the number of draws of inputs to try.
  std::optional<std::string> difference_from_ast(UOp graph, size_t most_trials = 1);
  std::optional<std::string> difference_from_ast(std::span<const UOp> list, size_t most_trials = 1);

  // Returns the usual inputs; null if REF cannot compare graphs with the AST.
  const StageTrial* usual() { return can_decide() ? trial(0) : nullptr; }
  // Returns what the AST stores for other inputs; nullopt if an operation of the AST is not defined for them, or if it
  // is too large to tell.
  std::optional<StageTrial> trial_of(Arrays inputs, std::map<std::string, int64_t> variables) const;
  // Like difference_from_ast(), for these inputs. Floats differ only if both are numbers, and if neither rounding nor
  // the order of sums explains it.
  std::optional<std::string> clear_difference(const StageTrial& t, UOp graph) const;
  std::optional<std::string> clear_difference(const StageTrial& t, std::span<const UOp> list) const;

 private:
  static constexpr double kWork = 4e6;  // limit for the UOps that REF evaluates in one run
  static constexpr double kLittleWork = 1e5;
  using Trial = StageTrial;
  using Places = StageTrial::Places;
  template <class Code>
  std::optional<std::string> clear_difference_of(const Trial& t, const Code& code) const;
  template <class Code>
  std::optional<std::string> compare(const Code& code, size_t most_trials);
  template <class Code>
  std::string difference_of_all(const Trial& t, const Code& code);
  std::string difference_of_parts(const Trial& t, UOp graph);
  std::string difference_of_parts(const Trial& t, UOp graph, double work);
  template <class Code>
  Execution stored_by(const Trial& t, const Code& code) const;
  const Arrays& expected_at(const Trial& t, const Places& places) const;
  const Trial* trial(size_t number);
  void run_ast(Trial& t) const;
  bool can_decide();

  UOp ast_;
  double work_ = kWork;
  std::deque<Trial> trials_;
  std::optional<bool> can_decide_;
  std::map<std::pair<const Graph*, uint32_t>, std::optional<std::string>> known_;
};

// Returns the number of elements for each DEFINE_GLOBAL of a kernel when REF evaluates sides. Large memories are small
// ones, as offsets are taken modulo the size.
std::map<int64_t, int64_t> memory_sizes(UOp ast);

}  // namespace tgc
