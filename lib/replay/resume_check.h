// The pseudo-stage `resume` of `tgc check`: checks that the output of `tgc dump` can be read and compiled further.
#pragma once
#include <functional>
#include <string>

#include "lib/compilation/compilation.h"

namespace tgc {

struct ResumeReport {
  size_t same = 0;         // number of round trips that succeeded; each graph makes three (pyrender, repr, JSON)
  std::string stage;       // the first stage after which a round trip failed; empty: none failed
  std::string difference;  // the format, and what went wrong
  bool passed() const { return stage.empty(); }
};

// Calls `begin` twice and runs the compilations. After each stage that changes the graph, writes the graph in each
// format, reads it into a new Graph, and compares the nodes. A kernel is then compiled from the graph that was read,
// and must give the same list and source. A tensor graph is only compiled from its AST, because later stages need the
// state of earlier stages.
ResumeReport check_resume(const std::function<Result<Compilation>()>& begin);

}  // namespace tgc
