// Computes a sample of the elements that a kernel stores, in REF. REF cannot run large kernels of models whole, and a
// wrong kernel is mostly wrong at many elements.
#pragma once
#include <map>
#include <optional>
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

// Estimates how many UOps REF evaluates in one run of a kernel's graph. Ranges without a constant size count once.
double work_of(UOp ast);

// Returns the constant size of a RANGE, also if casts surround it; null if the size is not constant.
UOp constant_size_of(UOp range);

// Runs the kernel `ast` on `inputs`, one array for each of its buffers, in REF. Computes all elements if that takes at
// most `work` evaluations of UOps, or if `ast` is no plain AST (each iteration of its ranges stores one element); else
// as many elements as `work` allows. Errors: REF cannot run the kernel, or a few elements need far more than `work`.
Result<Sample> reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work);

// Returns the elements that the kernel stores at `places`. Errors: `ast` is no plain AST, or does not store them.
Result<Arrays> values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                         const std::map<std::string, std::vector<int64_t>>& places);

}  // namespace tgc
