// Opt: one step of the optimizer on one axis (tinygrad codegen/opt/__init__.py),
// and the error of a step that does not fit the kernel.
#pragma once
#include <optional>
#include <string>

#include "lib/uop/graph.h"

namespace tgc {

struct Opt {
  OptOps op;
  // which axis; UNROLL, GROUP and GROUPTOP count the axes they can take, the others count all
  std::optional<int64_t> axis = {};
  // how much (0: all of it), the other axis of SWAP, (tc_select, tc_opt, use_tensor_cores) of TC
  Arg arg = {};
};

// The record that the graph and the texts hold, Opt(op=..., axis=..., arg=...), and back.
// Throws Failure when it is no Opt record.
Arg to_arg(Graph& graph, const Opt& opt);
Opt to_opt(Arg record);

// An opt that does not fit. The heuristics catch it and go on; a forced opt ends the stage with it.
class KernelOptError : public Failure {
 public:
  using Failure::Failure;
};

inline void check_opt(bool fits, const char* message) {
  if (!fits) [[unlikely]] throw KernelOptError(message);
}

}  // namespace tgc
