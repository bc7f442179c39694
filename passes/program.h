// Computes a kernel's launch facts: names, launch sizes, buffers, variables, opts and cost
// (tinygrad renderer/__init__.py:ProgramSpec, Estimates).
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/sint.h"

namespace tgc {

// The cost of one launch. A count may be an expression if the kernel has symbolic sizes.
struct Estimates {
  Sint ops;  // arithmetic operations
  Sint lds;  // bytes loaded and stored, outside registers
  Sint mem;  // bytes of the global buffers that are loaded from, plus bytes of those that are stored to
};

struct ProgramInfo {
  std::string name;           // the kernel's name, with colour codes
  std::string function_name;  // the function's name in the rendered source
  std::array<Sint, 3> global_size{1, 1, 1};  // number of groups, or of threads if there is no local size
  std::optional<std::array<Sint, 3>> local_size{{1, 1, 1}};  // threads per group; nullopt if the runtime chooses them
  std::vector<UOp> vars;                    // DEFINE_VARs, sorted by name
  // buffer numbers in ascending order: of all buffers, of those stored to, of those loaded from
  std::vector<int64_t> globals, outs, ins;
  Arg applied_opts;                         // a tuple of Opt records
  Estimates estimates;
};

// Returns the launch facts of `list`, the result of make_linear_list(), or an error if `list` is malformed.
Result<ProgramInfo> make_program_info(std::span<const UOp> list);

// Estimates the cost of a linear list. With `ignore_indexing`, arithmetic of addresses and gates does not count.
// Throws Failure if an END has no RANGE before it.
Estimates estimate_kernel(std::span<const UOp> list, bool ignore_indexing);

}  // namespace tgc
