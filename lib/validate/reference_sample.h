// Computes some of the elements that a kernel stores, because REF is too slow for all elements of large kernels.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct ArraySample {
  std::map<std::string, std::vector<int64_t>> flat_indices;  // flat indices in each stored array; empty: all elements
  Arrays values;                                             // the elements at these indices, in the same order
};

Array elements_at(const Array& array, const std::vector<int64_t>& places);

// Returns an estimate of how many UOps REF evaluates in one run of `ast`. Assumes one iteration for a RANGE whose size
// is not constant.
double work_of(UOp ast);

// Returns the CONST that is the size of a RANGE or SPECIAL, also below casts; null if the size is not constant.
UOp constant_size_of(UOp range);

// Runs the kernel `ast` in REF on `inputs`, one array per buffer. Computes all elements if that takes at most `work`
// evaluations of UOps, or if the AST is not plain; else as many elements as `work` allows, within fixed limits. An AST
// is plain if each of its stores writes, in every iteration of loops of constant sizes, one scalar to an array (not an
// image) of its own without a gate, and if it has no local memory, registers, barriers, BUFFERIZE or order of stores
// (AFTER). Fails if REF cannot run the kernel, or if it is far too large.
Result<ArraySample> make_reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work);

// Returns, for each array, the indices of elements from which the element `place` of the stored array `array` is
// computed, as far as they are known. For reductions, considers only the first `most` + 1 iterations of one loop.
std::map<std::string, std::vector<int64_t>> find_elements_read(UOp ast, const std::string& array, int64_t place,
                                                               const VariableValues& variables, size_t most);

// Returns the elements that `ast` stores at `places`. With `in_process`, REF runs in this process. Fails, for example,
// if the AST is not plain, or if `places` does not fit the stored arrays.
Result<Arrays> compute_values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                                 const std::map<std::string, std::vector<int64_t>>& places, bool in_process = false);

}  // namespace tgc
