// Opt: one step of the optimizer on one axis (tinygrad codegen/opt/__init__.py),
// and KernelOptError, the error of an opt that does not fit the kernel.
#pragma once
#include <optional>

#include "lib/uop/graph.h"

namespace tgc {

struct Opt {
  OptOps op;
  // The axis number: among unrollable axes for UNROLL, among REDUCE axes for GROUP and GROUPTOP, else among all axes.
  std::optional<int64_t> axis = {};
  // The amount (0: the whole axis); for SWAP the other axis; for TC the tuple (tc_select, tc_opt, use_tensor_cores).
  Arg arg = {};
};

// Convert between Opt and the record in the IR, Opt(op=..., axis=..., arg=...).
// to_opt throws Failure if `record` is not an Opt record.
Arg to_arg(Graph& graph, const Opt& opt);
Opt to_opt(Arg record);

// Thrown for an opt that does not fit the kernel. For an optional opt, the heuristics catch this error; for a forced
// opt, the stage fails with this error.
class KernelOptError : public Failure {
 public:
  using Failure::Failure;
};

inline void check_opt(bool fits, const char* message) {
  if (!fits) [[unlikely]] throw KernelOptError(message);
}

}  // namespace tgc
