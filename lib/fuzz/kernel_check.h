// Checks one kernel of a campaign: compiles it, and compares its results in REF after every stage, and on devices, with
// those of its AST.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/compilation/input_graph.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/execute/execution.h"
#include "lib/fuzz/generator.h"

namespace tgc {

// A kernel of the campaign and its target.
struct FuzzKernel {
  std::shared_ptr<Graph> graph;
  UOp ast;
  std::string target;
};

// A failure. `device` is where it occurs: "REF" if a stage fails, if REF computes something else from the graph after a
// stage or from the linear list than from the AST, or if the linear lists with and without an observer of rewrites
// differ.
struct FuzzFailure {
  std::string device;
  std::string symptom;  // the kind of failure, as in `tgc reduce --while`
  std::string message;
  bool is_non_finite = false;  // true if in every differing element, one of the two values is NaN or infinite
  std::optional<FuzzKernel> equivalent = {};  // the equivalent kernel, if only the equivalent kernel failed
};

struct FuzzOutcome {
  // Compiled: the kernel is too large for REF, or its results are undefined, so only the linear lists with and without
  // an observer of rewrites were compared. Refused: a stage refused the kernel, or the check ended with another
  // error. LeftOut: REF cannot run the AST (for example, it reads outside of its buffers), so there is no expected
  // result.
  enum class Kind : uint8_t { Compared, Compiled, Refused, LeftOut, Failed };
  Kind kind = Kind::LeftOut;
  std::optional<FuzzFailure> failure = {};
  size_t num_ref_runs = 0, num_device_runs = 0;
  size_t num_rounding_runs = 0;  // number of runs whose differences are explained by rounding
};

// Returns true if the kernel is too large for REF.
bool is_too_large(UOp ast);

// Compiles the kernel, and checks it with the oracles of README.md, also with runs on `devices`. `chance` decides which
// of the optional checks are made. Calls on_rule() for each rewrite.
FuzzOutcome check_kernel(const FuzzKernel& kernel, RandomSource& chance, const std::vector<std::string>& devices,
                       const std::function<void(const Application&)>& on_rule);

}  // namespace tgc
