// Checks a kernel of a campaign: compares the results of its stages, and of devices, with those of its AST.
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

struct FuzzKernel {
  std::shared_ptr<Graph> graph;
  UOp ast;
  std::string target;
};

// `device` is "REF" unless the failure occurred on a device.
struct FuzzFailure {
  std::string device;
  std::string symptom;  // as in `tgc reduce --while`
  std::string message;
  bool is_non_finite = false;  // the results differ only where one is NaN, infinite or the largest fp8 number
  std::optional<FuzzKernel> kernel_variant = {};  // the kernel that failed, if it is an equivalent one
};

struct FuzzOutcome {
  // Compiled: too large for REF or maybe undefined, so only linear lists were compared. Refused: an error ended the
  // check. LeftOut: the AST could not be run.
  enum class Kind : uint8_t { Compared, Compiled, Refused, LeftOut, Failed };
  Kind kind = Kind::LeftOut;
  std::optional<FuzzFailure> failure = {};
  size_t num_ref_runs = 0, num_device_runs = 0;
  size_t num_rounding_runs = 0;
};

// Returns true if REF would take too long.
bool is_too_large(UOp ast);

// Checks the kernel with the oracles of README.md, also on `devices`. `chance` selects optional checks. Calls on_rule()
// for the rewrites of the first compilation.
FuzzOutcome check_kernel(const FuzzKernel& kernel, RandomSource& chance, const std::vector<std::string>& devices,
                         const std::function<void(const Rewrite&)>& on_rule);

}  // namespace tgc
