// A kernel that is too large for REF, at any stage, with its outermost loops cut short: it then stores but some of its
// elements, each as the whole kernel does.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

// The graph, copied into `into`, with the loops and workgroups around its stores as short as REF needs for about `work`
// evaluations of UOps. Throws Failure when that is not enough: what lies within them is too large itself.
UOp truncate_loops(Graph& into, UOp root, double work);

// What a kernel stores, and where.
struct Stored {
  std::map<std::string, std::vector<int64_t>> places;  // of each array that is stored to, ascending
  Arrays values;                                       // there
};

// Runs that graph in REF, contained, on `inputs`, one array for each of its buffers; at most `most` of the elements of
// each array. Errors: REF cannot run it, it reads what it stores to, it stores nothing.
Result<Stored> stored_in_ref(UOp root, const Arrays& inputs, const VariableValues& variables, size_t most);

}  // namespace tgc
