// Checks one kernel of a campaign: runs it through every stage and every oracle.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/compilation/input_graph.h"
#include "lib/execute/execution.h"
#include "lib/fuzz/generator.h"
#include "lib/trace/applications.h"

namespace tgc {

// A kernel of the campaign and its target.
struct FuzzKernel {
  std::shared_ptr<Graph> graph;
  UOp ast;
  std::string target;
};

// A failure and the device that shows it ("REF" for the graph of a stage, or the list).
struct FuzzFailure {
  std::string device;
  std::string symptom;  // as in `tgc reduce --while`
  std::string said;
  bool is_non_finite = false;  // every differing element is, or should be, a NaN or an infinity
  std::optional<FuzzKernel> other = {};  // the equivalent kernel, under its own settings, that failed instead
};

struct FuzzOutcome {
  // Compiled: too large for REF, or undefined; only the lists with and without a watcher were compared. LeftOut:
  // meaningless
  enum class Kind : uint8_t { Compared, Compiled, Refused, LeftOut, Failed };
  Kind kind = Kind::LeftOut;
  std::optional<FuzzFailure> failure = {};
  size_t runs = 0, device_runs = 0;
  size_t rounding = 0;  // runs whose differences rounding explains
};

// Returns whether REF would take long for it.
bool is_too_large(UOp ast);

// Applies the oracles (README.md). `devices` are those to run on besides; `on_rule` is called for each rewrite.
FuzzOutcome check_kernel(const FuzzKernel& kernel, Chance& chance, const std::vector<std::string>& devices,
                       const std::function<void(const Application&)>& on_rule);

}  // namespace tgc
