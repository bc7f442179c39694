// Rangeify: decides which values are realized (stored in buffers) and which loop ranges index the input and output of
// each node. Mirrors tinygrad schedule/indexing.py.
#pragma once
#include <span>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop_table.h"

namespace tgc {

struct IndexingContext {
  explicit IndexingContext(Graph& graph) : graph(graph), realize_map(graph), range_map(graph) {}

  // Why a value is stored in a buffer.
  enum class Why : uint8_t {
    Output,       // it is a source of the sink
    OwnKernel,    // it is an op that needs a kernel or copy of its own: CONTIGUOUS, COPY, ASSIGN
    Source,       // the op `by` reads a buffer: COPY, MSELECT, ASSIGN
    UsersDiffer,  // its users index it differently
    LoopsEnd,     // an EXPAND above it would compute it again in each iteration of the expanded loops
  };
  // The axes over which a value is stored in a buffer.
  struct Realized {
    bool known = false;  // false: "get realize" marked the value, but `axes` (all axes) is not filled in yet
    std::vector<uint32_t> axes = {};  // ascending, except for axes that rangeify adds later
    Why why = Why::OwnKernel;
    UOp by = {};
    bool has(size_t axis) const;
  };
  // The index expressions of a node, one per axis of its input and of its output.
  struct Ranges {
    std::span<const UOp> in, out;
  };

  Graph& graph;
  UOpTable<Realized> realize_map;
  UOpTable<Ranges> range_map;
  int64_t next_range = 0;

  // Returns a new RANGE from 0 to `size`; the constant 0 if `size` is 1; `size` itself if it is a RANGE.
  UOp new_range(Sint size, AxisType type = AxisType::LOOP);
  std::span<const UOp> keep(std::vector<UOp>&& indices);  // copies `indices` into the graph's arena
};

// The rules of the nested pass "get realize": record in the context which values must be realized.
const RuleSet& pm_generate_realize_map();

// Runs the stage "apply rangeify": assigns ranges to every node, from the sink to the sources. Movement ops become
// index expressions; realized values become BUFFERIZEs read by INDEX.
UOp run_rangeify(UOp sink, IndexingContext& ctx);
const RuleSet& pm_apply_rangeify();
const RuleSet& mark_movements();     // nested rewrite: tags the movement ops of an ASSIGN's target

}  // namespace tgc
