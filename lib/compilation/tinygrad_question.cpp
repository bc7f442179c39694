#include "lib/compilation/tinygrad_question.h"

#include "lib/compilation/stage_rows.h"
#include "lib/text/pyrender.h"

namespace tgc {

CompileQuestion question_about(const InputGraph& graph) {
  CompileQuestion out{.id = graph.info.name, .target = graph.info.target, .is_tensor_graph = graph.is_tensor_graph};
  const Settings& settings = graph.graph->settings();
  for (const SettingInfo& s : all_settings())
    out.settings.emplace_back(s.name, std::to_string(s.name == "CPU_COUNT" ? settings.cpu_count() : settings.*s.value));
  const StageRow* last = find_row(graph.info.stage);
  for (const StageRow& row : stage_rows())
    if (last && row.kernel && &row <= last) out.after.emplace_back(row.name);
  out.nodes = graph_to_json(graph.root, {});
  if (auto text = pyrender(graph.root)) out.ast = *text;
  return out;
}

}  // namespace tgc
