#include "lib/compare/compare_with_tinygrad.h"

#include "lib/compare/replay.h"
#include "lib/compilation/tinygrad_question.h"

namespace tgc {

GoldenSettings changed_settings(const Settings& settings) {
  GoldenSettings out;
  for (const SettingInfo& s : all_settings())
    if (settings.*s.value != s.default_value) out[std::string(s.name)] = std::to_string(settings.*s.value);
  return out;
}

Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph,
                                           const std::string& name) {
  return catch_failures([&] {
    CheckPlan plan = std::move(make_check_plan("").value_or_throw());
    plan.explain = true;
    InputGraph in = std::move(load_recorded(graph.settings, InputKind::Pyrender, graph.ast, name).value_or_throw());
    in.info.name = name, in.info.target = graph.target, in.is_tensor_graph = graph.target.empty();
    auto record = std::move(tinygrad.ask(question_about(in)).value_or_throw());
    return check_record(record, in.graph->settings(), plan);
  });
}

}  // namespace tgc
