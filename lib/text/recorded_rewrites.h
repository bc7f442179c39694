// Reads the rule matches that `tinygrad_export.py --rewrites` recorded, a JSON object
// {"nodes":[...],"list":[[stage,place,before,after,depth],...]}. `stage` is an index into the record's stages, `place`
// is the file and line of the rule in tinygrad, `before` and `after` are indices into "nodes", nodes in the graph JSON
// format. `depth` is the number of rules that were running; older recordings lack it.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

struct RecordedMatch {
  size_t stage = 0;
  std::string place;  // file and line of the rule in tinygrad, "uop/symbolic.py:217"
  UOp before, after;
  int depth = 0;  // 0: a rewrite of the stage itself; 1: made while the rule of a rewrite of depth 0 ran; ...
};

// Parses `json` and makes the nodes in `graph`. `producer` is the tinygrad release that made the recording.
Result<std::vector<RecordedMatch>> read_rewrites(Graph& graph, std::string_view json, std::string_view producer,
                                                 std::string_view file);

// Replaces each node that `rewrites` maps, again and again, in the graph under `root`, in the order of tinygrad's
// graph_rewrite. With `bottom_up`, rewrites a node before its sources. Returns an empty UOp if the rewrites nest too
// deep.
UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up);

}  // namespace tgc
