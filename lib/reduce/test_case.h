// A test case: a kernel's graph with all that its failure needs. The oracle decides whether a smaller case fails in the
// same way (oracle.h).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/rewrite/fault.h"
#include "lib/runtime/array.h"
#include "lib/text/repro.h"

namespace tgc {

struct TestCase {
  std::shared_ptr<Graph> graph;   // with the case's settings
  UOp root;                       // the SINK
  GraphInfo info;                 // name, stage, target
  std::string device;             // as --device takes it
  std::vector<ReproArray> inputs; // given arrays; the others are random
  std::optional<FaultSpec> fault;

  InputGraph loaded() const;          // a copy in its own Graph, like a bundle that was read
  size_t nodes() const;
};

// Sets TGC_FAULT for this thread during its lifetime.
struct FaultHere {
  explicit FaultHere(const std::optional<FaultSpec>& fault) { set_fault_of_thread(fault); }
  ~FaultHere() { set_fault_of_thread(std::nullopt); }
};

bool is_ast(const TestCase& c);  // no stage has run yet
// Returns the case in a new Graph: each thread needs its own. A case without a root is returned unchanged.
TestCase in_own_graph(const TestCase& c);
// Returns the case with another root and without arrays that it does not use.
TestCase with_root(const TestCase& c, UOp root);

// Returns the size of a case, to be compared lexicographically: nodes; loops; opts, changed settings and the fault's
// number; unusual dtypes; magnitudes of constants and buffers; bytes of arrays.
std::vector<double> size_of(const TestCase& c);

using Replacements = std::vector<std::pair<UOp, UOp>>;
// Returns the graph with nodes replaced, each by a new node or by the replacement of a node below it. With
// `ends_loops`, ENDs, REDUCEs and STOREs drop ranges that became constants.
UOp replaced(UOp root, const Replacements& pairs, bool ends_loops = true);

// The ops of the nodes below `root`.
OpSet ops_of(UOp root);
// The nodes below `root`, each with the number of nodes that it dominates (itself included), the largest first.
std::vector<std::pair<UOp, size_t>> by_dominated(UOp root);

}  // namespace tgc
