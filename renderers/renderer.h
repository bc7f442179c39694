// Renderers: the text of a kernel from its linear list, for each target (tinygrad renderer/*.py: cstyle, wgsl,
// llvmir, ptx).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/target/target.h"
#include "lib/uop/uop.h"

namespace tgc {

// The source that tinygrad prints for `list` (what linear_list gives) and that target. A node that the renderer cannot
// express, by its op or its dtype, gives a Diag that names both.
Result<std::string> render_source(const Target& target, std::span<const UOp> list);

// Whether a list's source may be compiled: CUSTOM and CUSTOMI hold code that somebody wrote, which is printed, but
// compiled and run only with --allow-custom (lib/support/limits.h). The Diag shows the code.
Status check_custom(std::span<const UOp> list);

// The lines of the source that one node made, counted from 1; none when the nodes that use it print it in theirs,
// and when it is a parameter.
struct SourceLines {
  size_t first = 0, count = 0;
};
// The same source, and where each node of the list stands in it.
struct SourceMap {
  std::vector<std::string> lines;
  std::vector<SourceLines> of_node;
};
Result<SourceMap> source_map(const Target& target, std::span<const UOp> list);

}  // namespace tgc
