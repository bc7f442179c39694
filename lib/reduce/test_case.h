// A test case: a kernel's graph with its settings, target, device, arrays and seeded fault. The oracle (oracle.h)
// decides whether a smaller case fails in the same way.
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
  std::shared_ptr<Graph> graph;   // the graph, which also holds the case's settings
  UOp root;                       // the SINK
  GraphInfo info;                 // name, stage, target
  std::string device;             // as --device takes it
  std::vector<ReproArray> inputs; // arrays with fixed values; all other inputs get random values
  std::optional<FaultSpec> fault;

  InputGraph loaded() const;          // returns a copy in a new Graph, as if read from a bundle
  size_t nodes() const;
};

// While an object exists, compilations on this thread have the seeded fault, as if TGC_FAULT were set.
struct FaultHere {
  explicit FaultHere(const std::optional<FaultSpec>& fault) { set_fault_of_thread(fault); }
  ~FaultHere() { set_fault_of_thread(std::nullopt); }
};

bool is_ast(const TestCase& c);  // no stage has run yet
// Returns a copy of the case in a new Graph, because threads cannot share one. Returns a case without a root unchanged.
TestCase in_own_graph(const TestCase& c);
// Returns the case with the root `root`, without arrays that the new graph does not use.
TestCase with_root(const TestCase& c, UOp root);

// Returns the size of a case, a list to compare lexicographically: number of nodes; of loops; of opts and changed
// settings, plus the fault's application number; unusual dtypes; magnitudes of constants and buffers; array bytes.
std::vector<double> size_of(const TestCase& c);

using Replacements = std::vector<std::pair<UOp, UOp>>;
// Returns the graph with the first node of each pair replaced by the second; if that is below the first and has
// a replacement, too, by this one. If `ends_loops`, ENDs, REDUCEs and STOREs drop ranges that became constants.
UOp replaced(UOp root, const Replacements& pairs, bool ends_loops = true);

// Returns the ops of `root` and of the nodes below it.
OpSet ops_of(UOp root);
// Returns the nodes below `root`, each with the number of nodes that it dominates (itself included), largest first.
std::vector<std::pair<UOp, size_t>> by_dominated(UOp root);

}  // namespace tgc
