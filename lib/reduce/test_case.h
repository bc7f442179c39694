// Specimens: a kernel's graph with all that its failure needs. Whether a smaller one fails in the same way, the oracle
// says (oracle.h).
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
  std::vector<ReproArray> inputs; // arrays that are given; the others are drawn
  std::optional<FaultSpec> fault;

  InputGraph loaded() const;          // a copy in a Graph of its own, as a bundle that was read
  size_t nodes() const;
};

// TGC_FAULT of this thread, for as long as this lives.
struct FaultHere {
  explicit FaultHere(const std::optional<FaultSpec>& fault) { set_fault_of_thread(fault); }
  ~FaultHere() { set_fault_of_thread(std::nullopt); }
};

bool is_ast(const TestCase& c);  // no stage has run yet
// The same case in a new Graph, as each thread needs one; an empty one stays so.
TestCase in_own_graph(const TestCase& c);
// The same case with another graph; arrays that it does not have are dropped.
TestCase with_root(const TestCase& c, UOp root);

// How large a case is, for comparison: its nodes, its loops, what is left of opts, settings and the fault's number,
// dtypes that are not the plain ones, the sizes of constants and loops, and bytes of arrays.
std::vector<double> size_of(const TestCase& c);

using Replacements = std::vector<std::pair<UOp, UOp>>;
// The graph with nodes replaced, each by another or by what becomes of a node below it; `ends_loops`: loops that a
// replacement by a constant leaves without a range end.
UOp replaced(UOp root, const Replacements& pairs, bool ends_loops = true);

// The ops of the nodes below `root`.
OpSet ops_of(UOp root);
// The nodes below `root`, each with how many of them are there for it alone, itself included; the most first.
std::vector<std::pair<UOp, size_t>> by_dominated(UOp root);

}  // namespace tgc
