// What a kernel stores at some of its places, worked out in REF for those alone: a kernel of a model is too large to be
// run in REF whole, and a kernel that is wrong is hardly ever wrong at few places.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct Sample {
  std::map<std::string, std::vector<int64_t>> places;  // elements of each array that is stored to; empty: all of them
  Arrays values;                                       // what is stored there, in that order
};

// Those elements of an array. Throws Failure where it has no such element.
Array elements_of(const Array& array, const std::vector<int64_t>& places);

// About how many UOps REF evaluates in one run of a kernel's AST; ranges whose size is no number count once.
double work_of(UOp ast);

// The constant that is the size of a RANGE, as it is or cast (while indices are lowered); null: it is none.
UOp constant_size_of(UOp range);

// What the kernel of that AST makes of `inputs`, one array for each of its buffers: everywhere when that is no more
// than `work` evaluations, or when it is no plain AST (a store for each element of its ranges); else at as many places
// as that allows. Errors: REF cannot run it; even a few places are far more.
Result<Sample> reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work);

// What it stores at those places. An error: it is no plain AST, or a place is none of its own.
Result<Arrays> values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                         const std::map<std::string, std::vector<int64_t>>& places);

}  // namespace tgc
