// Computes what a kernel stores at some of its places in REF: kernels of models are too large to run in REF whole, and
// a wrong kernel is rarely wrong at few places.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct Sample {
  std::map<std::string, std::vector<int64_t>> places;  // flat indices in each array that is stored to; empty: all
  Arrays values;                                       // the elements at these places, in that order
};

// Returns the elements at these flat indices. Throws Failure if the array has no such element.
Array elements_of(const Array& array, const std::vector<int64_t>& places);

// Estimates how many UOps REF evaluates in one run of a kernel's graph. Ranges without a constant size count once.
double work_of(UOp ast);

// Returns the constant size of a RANGE, through casts (while indices are lowered); null if the size is no constant.
UOp constant_size_of(UOp range);

// Runs the kernel `ast` on `inputs`, one array for each of its buffers, in REF. All elements are computed if that takes
// at most `work` evaluations or if `ast` is no plain AST (one store for each element of its ranges); else as many as
// `work` allows. Errors: REF cannot run the kernel, or even a few places take far more than `work`.
Result<Sample> reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work);

// Returns what the kernel stores at these places, by array. Errors: `ast` is no plain AST, or does not store there.
Result<Arrays> values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                         const std::map<std::string, std::vector<int64_t>>& places);

}  // namespace tgc
