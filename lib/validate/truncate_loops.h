// Shortens the outermost loops of a kernel that is too large for REF. The kernel, at any stage, then stores only some
// of its elements, each as the whole kernel does.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

// Returns a copy of the graph in `into`, with the loops and workgroups around its stores so short that REF needs about
// `work` evaluations of UOps. Throws Failure if one iteration of these loops is too large itself.
UOp truncate_loops(Graph& into, UOp root, double work);

// Elements that a kernel stored, with their places.
struct Stored {
  std::map<std::string, std::vector<int64_t>> places;  // flat indices in each array that is stored to, ascending
  Arrays values;                                       // the elements at these places
};

// Runs the graph in a worker in REF on `inputs`, one array for each of its buffers, and returns at most `most` elements
// of each array. Errors: REF cannot run it, it reads an array that it stores to, or it stores nothing.
Result<Stored> stored_in_ref(UOp root, const Arrays& inputs, const VariableValues& variables, size_t most);

}  // namespace tgc
