// Shortens the outermost loops of a kernel, at any stage, that is too large for REF. The shortened kernel stores only
// some of the elements, but stores the same values to them as the whole kernel.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

// Returns a copy of the graph in `into`, whose loops and workgroups around the stores are so short that REF needs about
// `work` evaluations of UOps: the first iterations, or with `at_end` the last ones. Throws Failure if even one
// iteration of these loops needs more than that.
UOp truncate_loops(Graph& into, UOp root, double work, bool at_end = false);

// Elements that a kernel stored, with their indices.
struct Stored {
  std::map<std::string, std::vector<int64_t>> places;  // flat indices in each stored array, ascending
  Arrays values;                                       // the elements at these indices
  bool overlaps = false;  // if REF ran in this process: whether different values were stored to one element
};

// Runs the graph in REF, in a worker or with `in_process` here, on `inputs`, one array per buffer. Returns at most
// `most` stored elements per array. Errors: REF cannot run the graph, or the graph reads an array that it also
// stores to, or stores nothing.
Result<Stored> stored_in_ref(UOp root, const Arrays& inputs, const VariableValues& variables, size_t most,
                             bool in_process = false);

}  // namespace tgc
