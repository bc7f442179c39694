// TestCase: the graph of a kernel, with its settings, target, device, arrays and seeded fault.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/driver/session.h"
#include "lib/records/repro.h"
#include "lib/rewrite/fault.h"
#include "lib/run/run_options.h"
#include "lib/runtime/array.h"

namespace tgc {

struct TestCase {
  std::shared_ptr<Graph> graph;
  UOp root;                        // the SINK; the empty UOp if a function could not make the case
  GraphInfo info;                  // name, stage and target; for a live pipeline, the recorded settings, too
  std::string device;              // value of --device
  std::vector<ReproArray> inputs;  // the inputs with fixed values; others are random
  std::optional<FaultSpec> fault;

  InputGraph input_graph() const;  // a copy in a new Graph, like one that was read from a bundle
  size_t num_nodes() const;
};

// While a FaultScope exists, compilations on its thread have the seeded fault, as with TGC_FAULT.
struct FaultScope {
  explicit FaultScope(const std::optional<FaultSpec>& fault) { set_fault_of_thread(fault); }
  ~FaultScope() { set_fault_of_thread(std::nullopt); }
};

bool is_ast(const TestCase& c);  // true if no stage made the graph
// Returns a copy in a new Graph, because threads cannot share a Graph. A case without a root is returned unchanged.
TestCase copy_to_own_graph(const TestCase& c);
// Returns the case with the root `root`, and without arrays that this graph does not use.
TestCase replace_root(const TestCase& c, UOp root);

// Returns the size of a case as numbers that are compared lexicographically: nodes; loops; opts, changed settings and
// the fault's application; rare dtypes; magnitudes of constants and buffers; bytes of arrays.
std::vector<double> case_sizes_of(const TestCase& c);

using Replacements = std::vector<std::pair<UOp, UOp>>;
// Replaces the first node of each pair by the second. If the second node comes before the first one in toposort order,
// uses what the second one becomes. With `ends_loops`, ENDs, REDUCEs and STOREs drop ranges that became constants.
UOp replace_nodes(UOp root, const Replacements& pairs, bool ends_loops = true);

OpSet ops_of_graph(UOp root);
// Returns the nodes of the graph `root`, each with the number of nodes that it dominates (itself included), the largest
// number first.
std::vector<std::pair<UOp, size_t>> nodes_by_dominated_count(UOp root);

// Returns the test case with which a reduction of `in` begins. Its arrays are those of the options or a bundle, else
// random; none if REF cannot run the kernel. If `runs_nowhere`, its device is REF, because it is only compiled. Throws
// Failure for a linear list, or an invalid option, array or TGC_FAULT.
TestCase make_initial_case(const Session& session, InputGraph& in, const RunOptions& options, bool runs_nowhere);

// Returns the session without --opts, --from and --target, which each test case has itself, and without a receiver of
// messages.
Session session_without_overrides(const Session& session);

}  // namespace tgc
