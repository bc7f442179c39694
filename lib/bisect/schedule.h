// Strategy: find the rewrite of the tensor stages because of which a schedule is wrong, though each of its kernels is
// compiled correctly.
#pragma once
#include <functional>
#include <optional>

#include "lib/bisect/verdict.h"
#include "lib/run/run_model.h"

namespace tgc {

// A failing model or tensor graph. Runs all of it with other options.
struct ModelRepro {
  const Session& session;
  RunOptions options;
  std::function<ModelReport(const RunOptions&)> run;
};

// Result of a run of all kernels, of which none is miscompiled.
struct ModelOutcome {
  ModelReport report;
  size_t kernels = 0;        // that were compared with REF
  std::string kernel_fault;  // an out-of-bounds access of a kernel's own AST; empty: none
};

// Compares the results with the expected ones, and with those of a schedule without fusion, where every operation has a
// kernel of its own: only if that one is right, the schedule is at fault. Each rewrite's sides are compared in REF, one
// tensor element as an expression (lib/validate/tensor_element.h). The culprit is a rewrite without which the results are
// right, or the only one whose sides differ. If there is none, rules are suppressed one by one for half a minute; a rule
// without which the results are right is mentioned, but is no culprit, because it changes all that follows.
// Returns nullopt if the run ended with an error that is not the schedule's.
std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts);

}  // namespace tgc
