// A kernel's launch facts: what it takes to call its compiled source, and what it costs (tinygrad renderer/__init__.py:
// ProgramSpec, Estimates).
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/sint.h"

namespace tgc {

// What a kernel costs, where sizes are symbolic as expressions.
struct Estimates {
  Sint ops;  // floating-point operations
  Sint lds;  // bytes of all its loads and stores
  Sint mem;  // bytes of the buffers it touches, each once
};

struct ProgramInfo {
  std::string name;           // of the kernel, coloured
  std::string function_name;  // in the source
  std::array<Sint, 3> global_size{1, 1, 1};
  std::optional<std::array<Sint, 3>> local_size{{1, 1, 1}};  // nullopt: the kernel leaves it open
  std::vector<UOp> vars;                    // DEFINE_VARs, by name
  std::vector<int64_t> globals, outs, ins;  // numbers of the buffers: all, stored to, loaded from; each ascending
  Arg applied_opts;                         // a tuple of Opts
  Estimates estimates;
};

// The facts of `list`, what linear_list gives.
Result<ProgramInfo> program_info(std::span<const UOp> list);

// Counts what a list costs; address arithmetic is left out when `ignore_indexing`.
// Throws Failure on a list with ENDs out of place.
Estimates estimate(std::span<const UOp> list, bool ignore_indexing);

}  // namespace tgc
