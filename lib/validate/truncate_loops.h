// Shortens the outermost loops of a kernel, at any stage, so that REF stores only some of the elements, with the same
// values.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

// Copies the graph into `into`, with fewer iterations of the loops and workgroups around the stores, so that REF needs
// at most about `work` evaluations of UOps. Keeps the first iterations or, with `at_end`, the last ones. Throws Failure
// if even one iteration needs more than `work`.
UOp truncate_loops(Graph& into, UOp root, double work, bool at_end = false);

struct StoredSample {
  std::map<std::string, std::vector<int64_t>> flat_indices;  // flat indices in each stored array, ascending
  Arrays values;
  bool has_overlaps = false;  // different values were stored to one element; only known if REF ran in this process
};

// Runs the graph in REF on `inputs`, an array for each buffer; in a worker or, with `in_process`, in this process.
// Returns at most `most` stored elements of each array. Fails if an array is missing, if REF cannot run the graph, or
// if the graph reads an array that it also stores to, or stores nothing to an array.
Result<StoredSample> sample_stores_in_ref(UOp root, const Arrays& inputs, const VariableValues& variables, size_t most,
                                          bool in_process = false);

}  // namespace tgc
