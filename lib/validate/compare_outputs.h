// Whether what a kernel stored is what was expected.
#pragma once
#include <functional>

#include "lib/execute/execution.h"
#include "lib/runtime/compare.h"
#include "lib/uop/uop.h"

namespace tgc {

// What the user asked for; where that is nothing, what two devices may differ by in an array of the kernel `root` (a
// graph at any stage).
ToleranceOptions tolerance_for(const ToleranceOptions& asked, UOp root, const Array& expected);

// A kernel and what it was run with, so that it can be run again.
struct CompareContext {
  UOp root;                 // a graph at any stage; of a linear list the empty UOp
  const Arrays& inputs;     // one for each of its buffers
  const VariableValues& variables;
  ExecuteOptions options = {};  // of those runs
};

// Compares each expected array with the actual one of its name. Elements that differ are left out, and counted, when
// the kernel itself leaves them open: when in REF, with every step a little off (lib/validate/perturb_rounding.h), they become
// something else than without. An array that is missing is an error. `settled` receives the actual arrays, with what is
// left out as it is expected.
Result<std::vector<Comparison>> judge(const CompareContext& kernel, const Arrays& actual, const Arrays& expected,
                                      const std::function<ToleranceOptions(const Array& expected)>& tolerance,
                                      Arrays* settled = nullptr);

// Whether it is worth while to ask what the kernel leaves open, which takes five more runs in REF: these take a moment,
// or so few elements differ that rounding may explain them all. `compared`: without asking. Of a linear list: never.
bool is_worth_asking(UOp root, const std::vector<Comparison>& compared);

}  // namespace tgc
