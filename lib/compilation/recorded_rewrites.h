// Reads the rewrites that `tinygrad_export.py --rewrites` recorded, a JSON object
// {"nodes":[...],"list":[[stage,place,before,after,depth],...]}. `stage` is an index into the record's stages, `place`
// is the file and line of the rule in tinygrad, `before` and `after` are indices into "nodes", nodes in the graph JSON
// format. `depth` is the number of rules that were running; older recordings lack it.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/compilation/rewrite_log.h"
#include "lib/records/golden.h"

namespace tgc {

// Returns the row of stage `index` of the record.
const StageRow& row_of_recorded(const GoldenRecord& record, size_t index);

// Parses the rewrites of `record`, if it has any, and makes their nodes in `graph`. `producer` is the tinygrad release
// that made the recording; `file` is the file's name in messages.
Result<std::vector<Rewrite>> read_rewrites(Graph& graph, const GoldenRecord& record, std::string_view producer,
                                           std::string_view file);

// Returns the rewrites of each stage of the record, in order. `rewrites` are those that read_rewrites() returned.
std::vector<std::span<const Rewrite>> split_by_stage(const GoldenRecord& record, std::span<const Rewrite> rewrites);

}  // namespace tgc
