// One graph of a campaign: made from a number, run through every stage and every oracle.
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

// A kernel of the campaign, with where it is lowered for.
struct FuzzKernel {
  std::shared_ptr<Graph> graph;
  UOp ast;
  std::string target;
};

// What went wrong: on which device ("REF": the graph of a stage, or the list), and how.
struct FuzzFailure {
  std::string device;
  std::string symptom;  // by a name of `tgc reduce --while`
  std::string said;
  bool is_non_finite = false;  // each element that is off is a NaN or an infinity, or should be
  std::optional<FuzzKernel> other = {};  // an equivalent kernel, under settings of its own, that is the one to fail
};

struct FuzzOutcome {
  // Compiled: too large for REF, or it means nothing; the list is the same watched and unwatched
  enum class Kind : uint8_t { Compared, Compiled, Refused, LeftOut, Failed };
  Kind kind = Kind::LeftOut;
  std::optional<FuzzFailure> failure = {};
  size_t runs = 0, device_runs = 0;
  size_t rounding = 0;  // runs that differ by what rounding explains
};

// Whether REF would take more than a moment for it.
bool is_too_large(UOp ast);

// The oracles: every stage in REF, the list in REF, watched as unwatched, equivalents, and, when asked for, devices.
// `on_rule` is told of each application.
FuzzOutcome try_kernel(const FuzzKernel& kernel, Chance& chance, const std::vector<std::string>& devices,
                       const std::function<void(const Application&)>& on_rule);

}  // namespace tgc
