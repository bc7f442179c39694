// Rangeify: which values are realized in buffers, and which loop ranges index each node's input and output.
// Mirrors tinygrad schedule/indexing.py.
#pragma once
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop_table.h"

namespace tgc {

struct IndexingContext {
  explicit IndexingContext(Graph& graph) : graph(graph), realize_map(graph), range_map(graph) {}

  // The axes of a value that end in a buffer. Not known yet for those that are realized anyway: all of them.
  struct Realized {
    bool known = false;
    std::vector<uint32_t> axes = {};  // ascending, unless rangeify added some later
    bool has(size_t axis) const;
  };
  // The index expressions of a node's axes: those of its input, and those of its output.
  struct Ranges {
    std::span<const UOp> in, out;
  };

  Graph& graph;
  UOpTable<Realized> realize_map;
  UOpTable<Ranges> range_map;
  int64_t next_range = 0;

  // A loop over `size`; a range stays itself, and of size 1 there is only the index 0.
  UOp new_range(Sint size, AxisType type = AxisType::LOOP);
  std::span<const UOp> keep(std::vector<UOp>&& indices);  // a copy that lives as long as the graph
};

// The rules of "get realize": they note in the context which values must be in a buffer of their own.
const RuleSet& pm_generate_realize_map();

// "apply rangeify": every node is given its ranges, from the sink up; movement ops become index expressions, values
// that are realized BUFFERIZEs that are indexed.
UOp run_rangeify(UOp sink, IndexingContext& ctx);
const RuleSet& pm_apply_rangeify();
const RuleSet& mark_movements();     // a rewrite inside: tags the movements of what is assigned to

}  // namespace tgc
