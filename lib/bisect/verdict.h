// Verdict: the result of a bisection.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct Comparison;

struct Verdict {
  enum class Kind : uint8_t {
    Same, Rewrite, Shortcut, Renderer, Compiler, Device, Schedule, Divergence, Endless, Deep, Crash, Hazard, Flaky,
    Unresolved, Known, Order, Refused, Barrier
  };
  struct CycleStep {  // a rewrite of a cycle of rules; the fields are as in Verdict
    std::string rule, branch, location, before, after;
  };

  Kind kind = Kind::Same;
  std::string detail = {};
  // The culprit rewrite, if there is one: its stage, its rule, the branch of the rule's function, and the rule's file
  // and line. For Shortcut, `rule` and `location` are those of the shortcut; for Renderer, `location` is a line of the
  // source. Without a culprit rewrite, `stage` may name the stage that fails.
  std::string stage = {}, rule = {}, branch = {}, location = {};
  std::string tinygrad_location = {};  // the rule's file and line in tinygrad, "uop/symbolic.py:113"; empty if unknown
  // Only for a recorded stage: the place of the call in tinygrad that runs the stage. If the stage substitutes nodes,
  // or applies the opts, also the place of the function that does so.
  std::string stage_location = {}, function_location = {};
  std::string listed_location = {};  // the file and line of the rewrite in the recording, if it is not `location`
  // Number of the culprit among the applications in `stage` of `rule` or, if `listed_location` is set, of the rewrites
  // at this location, from 1; 0: none.
  uint64_t rewrite_number = 0;
  // The two sides of the culprit rewrite as text. For Renderer: the node that is printed wrongly, and its source lines.
  std::string before = {}, after = {};
  std::string node_tree = {};                 // the rewritten node as a tree, deeper than `before`
  // for Endless: one round of the cycle of rules; for Refused: rules that match again and again
  std::vector<CycleStep> rule_cycle = {};
  // A point where the sides differ: values of leaves, such as ranges, and of both sides ("before", "after").
  std::map<std::string, std::string> witness = {};
  // For Compiler: LLVM's pass, and the function that it ran on. For other kinds, `function` is a function of tinygrad.
  std::string pass_name = {}, function = {};
  std::vector<size_t> kernel_numbers = {};  // for Order: ScheduleFault::first_kernel and second_kernel
  // for Order: ScheduleFault::buffer and dependency_kind (schedule_order.h)
  std::string shared_buffer = {}, missing_edge_kind = {};
  uint64_t pass_number = 0;                 // for Compiler: number of `pass_name` among LLVM's passes, from 1
  // For Known: the entry of the known faults (known_faults.h) that explains the culprit, if there is one. The URL may
  // be empty.
  std::string known_fault_name = {}, known_fault_text = {}, issue_url = {}, program_text = {};
  bool is_shown_by_given_inputs = false;  // for Known: arrays of --inputs or a repro bundle show the fault
  bool is_confirmed = false;  // it is proven that the culprit causes the failure
  std::string proof = {};  // how the culprit was confirmed, or why not

  bool can_be_confirmed() const;  // returns true if `is_confirmed` has a meaning for this kind of verdict
};
std::string_view name_of(Verdict::Kind kind);

// Part of Verdict::detail if unrepresentable_constant() finds a constant in the culprit.
inline constexpr std::string_view kOutOfRangeConstantText = "a constant that its dtype does not hold";

struct BisectCounts {
  size_t num_runs = 0;
  size_t num_rewrites = 0, num_compared = 0;
  // Numbers of elements that a kernel or graph stores: of all, and of those that were not compared.
  int64_t num_elements = 0, num_left_out = 0;

  // Sets the numbers of elements to those of `arrays`, unless `num_left_out` is larger than that of `arrays`.
  void update_element_counts(const std::vector<Comparison>& arrays);
  void add_element_counts(const BisectCounts& other) {
    num_elements += other.num_elements, num_left_out += other.num_left_out;
  }
  void set_element_counts(const BisectCounts& other) {
    num_elements = other.num_elements, num_left_out = other.num_left_out;
  }
  bool has_compared_elements() const { return num_left_out < num_elements || num_elements == 0; }
};

}  // namespace tgc
