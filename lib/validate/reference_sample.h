// Computes in REF a sample of the elements that a kernel stores, because REF cannot run the large kernels of models
// whole, and a wrong kernel is mostly wrong at many elements.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct Sample {
  std::map<std::string, std::vector<int64_t>> places;  // flat indices in each stored array; empty: all elements
  Arrays values;                                       // the elements at these indices, in the same order
};

// Returns the elements at the flat indices `places`. Throws Failure if the array has no such element.
Array elements_of(const Array& array, const std::vector<int64_t>& places);

// Estimates how many UOps REF evaluates in one run of a kernel's graph. A RANGE without a constant size counts once.
double work_of(UOp ast);

// Returns the constant size of a RANGE, also if casts surround it; null if the size is not constant.
UOp constant_size_of(UOp range);

// Runs the kernel `ast` in REF on `inputs`, one array per buffer. Computes all elements if that takes at most `work`
// evaluations of UOps, or if some iteration of the AST's ranges does not store exactly one element; else as many
// elements as `work` allows. Errors: REF cannot run the kernel, or even a few elements need far more than `work`.
Result<Sample> reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work);

// Returns the stored elements at `places`; with `in_process`, REF runs in this process. Errors: some iteration of `ast`
// does not store just one, or one is missing.
Result<Arrays> values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                         const std::map<std::string, std::vector<int64_t>>& places, bool in_process = false);

}  // namespace tgc
