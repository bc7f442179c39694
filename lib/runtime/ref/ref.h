// REF: the reference interpreter. It runs kernels as UOps in exact dtype semantics and checks every access against its
// buffer. It takes
//   - a graph at any stage of the pipeline, from the kernel's AST (ranges, reduces, INDEX with validity) to the fully
//     rewritten sink;
//   - a linear list for any target: workgroups, local memory, barriers, warps and tensor cores.
//
// The semantics are those of tinygrad's exec_alu and runtime/ops_python.py. Every op rounds to its dtype; integers
// wrap; division truncates, x / 0 is 0 and x % 0 is x; a cast from float keeps the low bits of the truncated value; a
// load with a false gate gives the alternative, or 0. A shift by the width or more takes the count modulo the width, as
// most processors do; exec_alu gives 0 or the sign. Some behavior that C leaves undefined is counted in
// UndefinedOpCounts, because a device may differ there.
//
// A kernel is translated once to register code whose instructions work on many lanes at a time. Lanes are threads of
// workgroups, iterations of parallel ranges, or the elements of a reduction, which are still combined in order.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/device.h"
#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Numbers of operations in which devices may differ although each device is correct.
struct UndefinedOpCounts {
  uint64_t num_zero_divisions = 0, num_wide_shifts = 0, num_out_of_range_casts = 0;
  uint64_t num_domain_errors = 0;   // square roots and logarithms of negative numbers
  uint64_t num_negative_sizes = 0;  // loops of negative size: C runs them 0 times, tinygrad's LLVM IR billions
  uint64_t num_conflicting_stores = 0;  // stores of a different value to a buffer element that was already stored to
  static constexpr std::string_view kNegativeSizeText = " of a negative size";
  std::string text() const;  // returns text such as "2 integer divisions by zero"; empty if all counts are 0
};

struct RefBuffer {
  int64_t number;  // number of the buffer's DEFINE_GLOBAL
  void* data;
  size_t bytes;
};

struct RefResult {
  UndefinedOpCounts notes;
  // number of evaluations of UOps, counted per lane; 0 unless RefOptions::should_count_evaluations
  uint64_t num_evaluations = 0;
};

struct RefOptions {
  bool should_count_evaluations = false;
};

class RefProgram {
 public:
  // Translates the graph under `sink`, or a linear list. Returns an error if REF cannot run it.
  static Result<RefProgram> make_from_graph(UOp sink, const RefOptions& options = {});
  static Result<RefProgram> make_from_list(std::span<const UOp> list, const RefOptions& options = {});
  RefProgram(RefProgram&&) noexcept;
  ~RefProgram();

  // Runs the kernel. Every DEFINE_GLOBAL needs a buffer that is large enough, and every DEFINE_VAR a value. An access
  // out of bounds ends the run with an error that gives the access, the index and the values of the open ranges. A run
  // that takes more than `seconds` (0: Limit::RefSeconds) or Limit::RefSteps, or reaches current_deadline(), is an
  // error, too.
  Result<RefResult> run(std::span<const RefBuffer> buffers, const std::map<std::string, int64_t>& variables = {},
                        double seconds = 0) const;

  std::vector<int64_t> buffer_numbers() const;  // numbers of the DEFINE_GLOBALs, ascending; may repeat

 private:
  struct Impl;
  explicit RefProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The device's kernels are translated from UOps, not loaded from code.
std::unique_ptr<Device> make_ref_device();

// A program as a kernel of make_ref_device(). The buffers of a launch correspond to `buffer_numbers`, its variables to
// `variables`.
class RefKernel : public Kernel {
 public:
  RefKernel(Device& device, std::shared_ptr<const RefProgram> program, std::vector<int64_t> buffer_numbers,
            std::vector<std::string> variables);
  Status launch(const LaunchArguments& arguments) override;
  void set_time_limit_seconds(double seconds) { limit_seconds_ = seconds; }
  const RefResult& result() const { return last_result_; }

 private:
  std::shared_ptr<const RefProgram> ref_program_;
  std::vector<int64_t> buffer_numbers_;
  std::vector<std::string> variable_names_;
  double limit_seconds_ = 0;
  RefResult last_result_;
};

}  // namespace tgc
