// The pseudo-stage `resume` of `tgc check`: checks that texts of `tgc dump` can be read, and compile to the same
// result.
#pragma once
#include <functional>
#include <string>

#include "lib/compilation/compilation.h"

namespace tgc {

struct ResumeReport {
  size_t num_same = 0;       // number of round trips that succeeded, three per graph (pyrender, repr, JSON)
  std::string failed_stage;  // the first stage after which a round trip failed; empty if none failed
  std::string difference;    // the format of the text, and the error or difference
  bool passed() const { return failed_stage.empty(); }
};

// Runs two compilations that `begin` begins. After each stage that changes the graph, writes the graph in each format,
// reads the text, and compares the nodes. Then compiles a kernel from the text, and compares the linear list and the
// source. A tensor graph is only compiled from its AST, because later stages need state of earlier stages.
ResumeReport check_resume(const std::function<Result<Compilation>()>& begin);

}  // namespace tgc
