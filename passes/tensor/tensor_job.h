// The state of the stages that schedule one tensor graph.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {

struct IndexingContext;

struct TensorJob {
  explicit TensorJob(Graph& graph);
  ~TensorJob();

  Graph& graph;
  const Settings& settings() const { return graph.settings(); }

  // set by "rewrite for sched cache"
  UOp original_sink = {};                                              // the sink before this stage
  UOp normalized_sink = {};
  // pairs of a node of `original_sink` (input buffer, unique constant or bound variable) and its normalized node
  Substitution input_buffers = {};
  // Returns the BUFFER of `original_sink` that was normalized to `buffer`; `buffer` itself if there is none.
  UOp original_buffer(UOp buffer) const;
  std::vector<std::pair<std::string, int64_t>> var_vals = {};  // values of the bound variables, in order of appearance
  // set by "multi_pm": the sink without MULTIs, and the replacements
  UOp scheduled_sink = {};
  Substitution multi_map = {};
  // set by "number the uops": numbered_nodes[i] is the node that the stage tags with i
  std::vector<UOp> numbered_nodes = {};
  std::unique_ptr<IndexingContext> indexing;  // filled by "apply rangeify"
  // set by "remove all tags": the tags of the sink's sources
  std::vector<Arg> sink_tags = {};
};

}  // namespace tgc
