// Facts about records that are known without compiling them.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/compilation/input_graph.h"
#include "lib/records/golden.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns the device of a tensor graph's first output, as a target: "CUDA" for "CUDA:1". Returns "" for the CPU, for an
// unknown device, and for kernels.
std::string recorded_device(const InputGraph& in);

// ---- records that have nothing to run or compare

// Returns the first line of `message`; if it is long, its beginning and "...".
std::string shortened_first_line(std::string_view message);

// Fails if the record of `in` has nothing to run or compare. Either tinygrad raised an error while it compiled, or the
// record of a kernel has neither a linear list nor a source. Succeeds if `in` has no record.
Status check_is_runnable(const InputGraph& in);

// ---- the kernels that tinygrad's runtime compiles for itself
// They wait for other threads, signal them, or call addresses that they read from arrays. No schedule has these
// kernels. tgc must not execute them.

// Returns a CALL of `root` whose callee is a value, such as an address that the kernel loads; an empty UOp if there is
// none. A CALL of a schedule has a callee without a value: a kernel, a program or a function.
UOp find_call_of_value(UOp root);

// Returns true if the exporter marked the record as a kernel of tinygrad's runtime. For a kernel without the mark,
// returns true if the AST calls an address in data, or if it has both an unbounded loop and volatile memory. Also
// returns true if the AST has the name and a tag of the runtime's kernel signal_prog. `producer` is that of the file's
// header.
bool is_runtime_kernel(const GoldenRecord& record, std::string_view producer);
// Returns is_runtime_kernel() of the record of `in`; false if `in` has no record.
bool is_runtime_kernel(const InputGraph& in);

// ---- which targets of two recordings are the same
// One release may record more about a device than another, such as the OpenCL extensions in CL:CL:cl_khr_fp64 or the
// features of a CPU. So targets are compared by device and renderer only, unless one of the recordings has several
// targets with the same device and renderer.

// "CL:CL" for "CL:CL:cl_khr_fp64", and the whole target if it has no third part.
inline std::string_view device_and_renderer(std::string_view target) {
  const size_t device = target.find(':'), renderer = device == target.npos ? device : target.find(':', device + 1);
  return target.substr(0, renderer);
}

class TargetMatcher {
 public:
  // `a` and `b` are the sets of targets in the two recordings. The target of a tensor graph is "".
  TargetMatcher(const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const auto* side : {&a, &b}) {
      std::map<std::string_view, size_t> side_counts;
      for (const std::string& target : *side) side_counts[device_and_renderer(target)]++;
      for (auto& [kind, count] : side_counts)
        larger_counts_[std::string(kind)] = std::max(larger_counts_[std::string(kind)], count);
    }
  }
  // Two targets are treated as the same if their keys are equal.
  std::string key_of(const std::string& target) const {
    std::string kind(device_and_renderer(target));
    auto known = larger_counts_.find(kind);
    return known != larger_counts_.end() && known->second > 1 ? target : kind;
  }

 private:
  // for each "DEVICE:RENDERER": the larger of the numbers of targets that the two recordings have for it
  std::map<std::string, size_t> larger_counts_;
};

}  // namespace tgc
