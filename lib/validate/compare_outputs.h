// Compares the arrays that a kernel stored with the expected arrays.
#pragma once
#include <string>
#include <vector>

#include "lib/runtime/compare.h"
#include "lib/uop/uop.h"

namespace tgc {

struct CompareOptions {
  // --expect: the name of a file with the expected arrays; {} in it stands for the name of the input (InputOptions)
  std::string expected_file = {};
  // --reference, used if `expected_file` is empty: a device that computes the expected arrays, an INPUT whose graph REF
  // runs on the same arrays, or "none" to compare nothing. Empty: REF runs the input graph.
  std::string reference_device = {};
  ToleranceOptions tolerance = {};  // --rtol, --atol, --ulp
  bool should_run_each_stage = false;  // --each-stage: also run the graph after every stage in REF
  bool should_accept_rounding = false;  // accept differences that rounding explains (rounding_effect.h)

  // Returns the tolerance for `expected`, an array that the kernel `root` (a graph at any stage) stores.
  ToleranceOptions tolerance_for(UOp root, const Array& expected) const;
};

// Compares each expected array with the actual array of the same name. `root` is the kernel that stored the actual
// arrays, at any stage. Fails if an actual array is missing, or has another dtype or size.
Result<std::vector<Comparison>> compare_outputs(UOp root, const Arrays& actual, const Arrays& expected,
                                                const CompareOptions& options = {});

// Returns a known reason for the differences in `arrays` between a device and REF, although the kernel `root` is right;
// "" if there is none. `renderer` is the name of the device's renderer, such as "CLANG".
std::string expected_divergence(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer);

}  // namespace tgc
