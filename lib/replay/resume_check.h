// Whether what `tgc dump` writes comes back: the pseudo-stage `resume` of `tgc check`.
#pragma once
#include <functional>
#include <string>

#include "lib/compilation/compilation.h"

namespace tgc {

struct ResumeReport {
  size_t same = 0;         // graphs that came back, each in one of the forms pyrender, repr and JSON
  std::string stage;       // the first that did not: after which stage; empty: all did
  std::string difference;  // in which form, and how
  bool passed() const { return stage.empty(); }
};

// Takes a graph to its end, twice with `begin`. After every stage that changed it the graph is written in each form,
// read into a graph of its own, and compared node by node; a kernel then runs on from there, to the same list and the
// same source. A tensor graph runs on from its AST alone, for its later stages need what the earlier ones noted.
ResumeReport check_resume(const std::function<Result<Compilation>()>& begin);

}  // namespace tgc
