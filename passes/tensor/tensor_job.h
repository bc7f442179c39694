// What the stages of the tensor level work with besides the graph: one job schedules one tensor graph.
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

  // noted by "rewrite for sched cache"
  UOp given = {};                                              // the graph as it came
  UOp keyed = {};                                              // and as the cache key sees it
  // in order: what the graph names uniquely, and what stands for it in the key
  Substitution inputs = {};
  std::vector<std::pair<std::string, int64_t>> var_vals = {};  // values of the bound variables, by first appearance
  // noted by "multi_pm": the sink that the kernels are to make, one device per source, and what each node of several
  // devices became
  UOp scheduled = {};
  Substitution multi_map = {};
  // noted by "number the uops": the node of each tag
  std::vector<UOp> numbered = {};
  // noted by "apply rangeify"
  std::unique_ptr<IndexingContext> indexing;
  // noted by "remove all tags": the tags of the sink's sources
  std::vector<Arg> sink_tags = {};
};

}  // namespace tgc
