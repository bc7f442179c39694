// Specimens: a kernel's graph with all that its failure needs, and the cuts that make it smaller. A cut leaves a graph
// that is well formed where the one before was; whether it fails in the same way, the oracle says (oracle.h).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/compilation/loaded.h"
#include "lib/rewrite/fault.h"
#include "lib/runtime/array.h"
#include "lib/text/repro.h"

namespace tgc {

struct Specimen {
  std::shared_ptr<Graph> graph;   // with the case's settings
  UOp root;                       // the SINK
  GraphInfo info;                 // name, stage, target
  std::string device;             // as --device takes it
  std::vector<ReproArray> inputs; // arrays that are given; the others are drawn
  std::optional<FaultSpec> fault;

  Loaded loaded() const;          // a copy in a Graph of its own, as a bundle that was read
  size_t nodes() const;
};

bool is_ast(const Specimen& c);  // no stage has run yet

// How large a case is, for comparison: its nodes, what is left of opts, settings and the fault's number, dtypes that
// are not the plain ones, the sizes of constants and loops, and bytes of arrays.
std::vector<double> size_of(const Specimen& c);

using Replacements = std::vector<std::pair<UOp, UOp>>;
// The graph with nodes replaced, once; loops that a replacement by a constant leaves without a range end.
UOp replaced(UOp root, const Replacements& pairs);

// Whether a node's values can be stored to an array: a number, or a vector of numbers.
bool is_storable(UOp u);
// The dtype of indices at the graph's stage: index, until that is lowered.
DType index_dtype_of(UOp root);
// A kernel that stores nothing but the values of `u` in all iterations of the loops that it lies in, in a buffer of
// that number; the empty UOp when they are too many. Of a vector its first element.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// What stands for `u` where its values lie in that buffer as stored_alone leaves them; the empty UOp: nothing does.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);

// The nodes below `root`, each with how many of them are there for it alone, itself included; the most first.
std::vector<std::pair<UOp, size_t>> by_dominated(UOp root);

}  // namespace tgc
