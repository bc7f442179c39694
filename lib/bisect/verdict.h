// The result of a bisection strategy: what makes a kernel or model fail (the culprit), and how that was confirmed.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct Verdict {
  enum class Kind : uint8_t {
    Same, Rewrite, Shortcut, Renderer, Compiler, Device, Schedule, Divergence, Endless, Deep, Crash, Hazard, Flaky,
    Unresolved, Known, Order, Refused, Barrier
  };
  struct CycleStep {
    std::string rule, branch, location, before, after;
  };

  Kind kind = Kind::Same;
  std::string detail = {};  // explanation in prose
  // The culprit rewrite (Rewrite, Known, Divergence, Schedule, Endless, Crash, Barrier). For Shortcut: its location.
  std::string stage = {}, rule = {}, branch = {}, location = {};
  std::string tinygrad_location = {};  // the rule's file and line in tinygrad, "uop/symbolic.py:113"; empty: unknown
  // of a recorded stage: the call in tinygrad that runs the stage, and the function that makes the rewrite
  std::string stage_location = {}, function_location = {};
  std::string listed_location = {};  // where the recording says that the rewrite was made, if that is not `location`
  uint64_t rewrite = 0;  // position of the culprit among the applications of that rule in that stage, from 1
  // The two sides of the culprit rewrite as text. For Renderer: the node that is printed wrongly, and its source lines.
  std::string before = {}, after = {};
  std::string node = {};                 // the rewritten node as a tree, deeper than `before`
  std::vector<CycleStep> cycle = {};     // for Endless: one round of the cycle of rules
  // A point where the sides differ: maps ranges and variables to values, "before" and "after" to the sides' values.
  std::map<std::string, std::string> witness = {};
  // for Compiler: LLVM's pass and the function that it ran on. For Order: tinygrad's function that makes the edge.
  // For Barrier: the one that adds the barrier.
  std::string pass = {}, function = {};
  std::vector<size_t> kernels = {};    // for Order: the two kernels, in the right order
  std::string buffer = {}, edge = {};  // for Order, with `function`
  uint64_t pass_number = 0;              // the position of `pass` among the passes, from 1
  // For Known, a Rewrite that an entry of the known faults explains (known_faults.h): the entry's heading and text, its
  // issue in tinygrad's repository (empty: none), and a program that shows the fault.
  std::string entry = {}, entry_text = {}, issue = {}, program = {};
  bool shown_by_given = false;  // for Known: the given arrays show the fault, not only drawn ones
  bool confirmed = false;  // the kernel fails with the culprit and passes without it
  std::string proof = {};  // how `confirmed` was determined; empty: by a run without the culprit

  bool can_be_confirmed() const;
};
std::string_view name_of(Verdict::Kind kind);  // "rewrite"

// The beginning of Verdict::detail if a side of the culprit has a constant that its dtype cannot represent.
inline constexpr std::string_view kWildConstant = "a constant that its dtype does not hold";

// The work that a bisection did.
struct BisectCounts {
  size_t runs = 0;                    // runs of kernels or graphs
  size_t rewrites = 0, compared = 0;  // rewrites of the compilation, and those of them whose sides were compared
};

}  // namespace tgc
