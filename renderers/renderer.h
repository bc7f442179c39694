// Renders the linear list of a kernel as source in the target's language (tinygrad renderer/*.py: cstyle, wgsl, llvmir,
// ptx).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/target/target.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the source that tinygrad prints for `list` (a result of make_linear_list) and `target`. Returns an error if
// the list cannot be rendered, for example because it is empty or a name would be code, or if TGC_FAULT is malformed.
Result<std::string> render_source(const Target& target, std::span<const UOp> list);

// Returns an error if the source of `list` must not be compiled. CUSTOM and CUSTOMI contain code from the input, which
// is compiled and run only with --allow-custom (lib/support/limits.h).
Status check_custom_nodes(std::span<const UOp> list);

// The lines of the source that one node printed; the first line is 1. `num_lines` is 0 if the source has no such lines.
struct SourceLineRange {
  size_t first_line = 0, num_lines = 0;
};
struct SourceMap {
  std::vector<std::string> source_lines;
  std::vector<SourceLineRange> lines_of_node;
};
// Renders `list` and returns the source with the lines of each node. Returns the errors of render_source.
Result<SourceMap> make_source_map(const Target& target, std::span<const UOp> list);

}  // namespace tgc
