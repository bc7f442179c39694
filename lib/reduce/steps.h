// The single steps of reduce: each makes a case smaller in one place. When none of them leaves the failure, the case is
// the smallest.
#pragma once
#include <functional>

#include "lib/reduce/specimen.h"

namespace tgc {

// The same case with another graph.
Specimen with_root(const Specimen& c, UOp root);
// In a Graph with other settings.
Specimen with_settings(const Specimen& c, const Settings& settings);

using Candidates = std::vector<std::function<Specimen()>>;  // an empty graph: the step cannot be made

// One store of many; of a graph with one none.
Candidates single_stores(const Specimen& c);
// A node becomes a source of its dtype, a load that is there, or a constant; at one node.
Candidates simpler_nodes(const Specimen& c, UOp u);
// All steps, the largest cuts first.
Candidates all_steps(const Specimen& c);

}  // namespace tgc
