#pragma once
#include <functional>
#include <string>

#include "lib/compilation/compilation.h"

namespace tgc {

struct ResumeReport {
  size_t num_same = 0;       // successful round trips: writing, reading and comparing a graph in one format
  std::string failed_stage;
  std::string difference;    // the format that failed, and the error or difference
  bool passed() const { return failed_stage.empty(); }
};

// Calls `begin` for two compilations: one runs as a whole, the other stage by stage. Writes the AST and each changed
// graph as pyrender, repr and JSON, reads each text, and compares the nodes. Compiles a kernel from the text, and
// compares the linear list and the source with the whole run. Resumes a tensor graph only from its AST, because later
// stages need state of earlier stages.
ResumeReport check_resume(const std::function<Result<Compilation>()>& begin);

}  // namespace tgc
