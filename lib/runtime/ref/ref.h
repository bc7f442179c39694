// REF: the trusted reference. It runs kernels as UOps, in exact dtype semantics,
// with every access checked against its buffer:
//   a graph at any stage of the pipeline, from the kernel's AST (ranges, reduces, INDEX with validity)
//     to the fully rewritten sink
//   a linear list for any target: workgroups, local memory, barriers, warps and tensor cores
//
// Semantics are those of tinygrad's exec_alu and runtime/ops_python.py: every op rounds to its dtype; integers wrap;
// division truncates, x / 0 is 0 and x % 0 is x; a shift by the width or more gives 0 (or the sign); a cast from float
// keeps the low bits of the truncated value; a closed gate loads the alternative, or 0. What C leaves undefined is
// counted in RefNotes, because a device may differ there.
//
// A kernel is translated once into register code whose instructions work on many lanes at a time: the lanes of
// workgroups where a kernel has them, else the outermost parallel ranges, else the elements of a reduction (which are
// still combined one by one, in order).
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// What a run met that is undefined in C, or makes NaNs, which renderers compare differently (C's `<` is false of a NaN,
// that of tinygrad's LLVM IR true): where results may differ between devices without anyone being wrong.
struct RefNotes {
  uint64_t zero_divisions = 0, wide_shifts = 0, unfit_casts = 0;
  uint64_t outside_domain = 0;
  uint64_t negative_sizes = 0;  // of loops, which run not at all in C, and 2^32 times in tinygrad's LLVM IR
  uint64_t overlaps = 0;  // stores to an element of a buffer that had been stored to, of another value
  static constexpr std::string_view kNegativeSize = " of a negative size";  // what text() says of those
  std::string text() const;  // "2 integer divisions by zero", empty when there was nothing
};

struct RefBuffer {
  int64_t number;  // its DEFINE_GLOBAL
  void* data;
  size_t bytes;
};

struct RefResult {
  RefNotes notes;
  uint64_t evaluations = 0;  // of UOps, one per lane; counted when the program was made to
};

struct RefOptions {
  bool count_evaluations = false;
};

class RefProgram {
 public:
  // Translates the graph under `sink`, or a linear list. An error names the node that cannot be run.
  static Result<RefProgram> from_graph(UOp sink, const RefOptions& options = {});
  static Result<RefProgram> from_list(std::span<const UOp> list, const RefOptions& options = {});
  RefProgram(RefProgram&&) noexcept;
  ~RefProgram();

  // Runs it. Every DEFINE_GLOBAL needs a buffer that is large enough and every DEFINE_VAR a value; an access out of
  // bounds ends the run with an error that names the access, the index and the values of the open ranges; so does a run
  // of more than `seconds` (0: of Limit::RefSeconds).
  Result<RefResult> run(std::span<const RefBuffer> buffers, const std::map<std::string, int64_t>& variables = {},
                        double seconds = 0) const;

  std::vector<int64_t> buffer_numbers() const;  // the DEFINE_GLOBALs it uses

 private:
  struct Impl;
  explicit RefProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tgc
