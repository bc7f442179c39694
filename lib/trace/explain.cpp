#include "lib/trace/explain.h"

#include <algorithm>

#include "lib/compilation/stage_rows.h"
#include "lib/records/recorded_stages.h"
#include "lib/target/target.h"
#include "lib/uop/wellformed.h"
#include "passes/pipeline.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

size_t next_user(const std::vector<UOp>& list, size_t of) {
  for (size_t i = of + 1; i < list.size(); i++)
    if (std::ranges::find(list[i].src(), list[of]) != list[i].src().end()) return i;
  return list.size();
}

}  // namespace

void NodeExplainer::end_kernel() {
  if (!node_number_) {
    was_node_found_ = true;
    return print_text_(to_json() + "\n");
  }
  if (is_trace_number_) return explain_trace_number();
  std::string stage = stage_name_.empty() && !stage_names().empty() ? std::string(last_graph_stage())
                      : stage_name_ == "ast"                   ? ""
                                                               : stage_name_;
  for (std::string_view name : stage_names())
    if (is_name_of_choice(stage_name_, {name, alias_of_recorded_stage(name), slug_of_stage(name)})) stage = name;
  UOp root = stage_result_of(stage);
  if (!root) {
    const auto names = stage_names();
    known_stages_.assign(names.begin(), names.end());
    return;
  }
  auto nodes = toposort(root);
  if (*node_number_ >= nodes.size()) {
    valid_nodes_text_ =
        "'" + (stage.empty() ? std::string("ast") : stage) + "' has nodes %0 to %" + std::to_string(nodes.size() - 1);
    return;
  }
  was_node_found_ = true;
  print_text_(provenance_text(*this, nodes[*node_number_], stage, uses_color_));
  UOp last;
  (void)steps_to_end(nodes[*node_number_], stage, last);
  if (last) print_text_(final_places_text(last));
}

void NodeExplainer::explain_trace_number() {
  std::vector<std::string_view> names{"ast"};
  for (std::string_view name : stage_names()) names.push_back(name);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!stage_name_.empty() &&
        !is_name_of_choice(stage_name_, {*name, alias_of_recorded_stage(*name), slug_of_stage(*name)}))
      continue;
    const std::string_view stage = *name == "ast" ? "" : *name;
    const UOp root = stage_result_of(stage);
    if (!root) continue;
    for (UOp u : toposort(root)) {
      if (node_number(u) != *node_number_) continue;
      was_node_found_ = true;
      print_text_(provenance_text(*this, u, stage, uses_color_));
      UOp last;
      (void)steps_to_end(u, stage, last);
      if (last) print_text_(final_places_text(last));
      return;
    }
  }
}

Status NodeExplainer::outcome() const {
  if (!was_node_found_ && !valid_nodes_text_.empty())
    return Diag{.message = "there is no node %" + std::to_string(*node_number_), .expected = valid_nodes_text_};
  if (!was_node_found_ && is_trace_number_)
    return Diag{.message = "no graph " + (stage_name_.empty() ? "" : "of '" + stage_name_ + "' ") + "has a node #" +
                           std::to_string(*node_number_),
                .expected = "the number of a node in the graph after a stage; a node that a rule made and another rule "
                            "of the same stage replaced is in none"};
  if (!was_node_found_ && !stage_name_.empty() && !known_stages_.empty())
    return unknown_word_error("stage", stage_name_,
                              std::vector<std::string_view>(known_stages_.begin(), known_stages_.end()),
                              "one stage of the trace");
  if (!was_node_found_) return Diag{.message = "the stage was not run"};
  return Unit{};
}

std::string NodeExplainer::final_places_text(UOp last) {
  // a trace file may have no stages, or graphs of another release
  if (stage_names().empty() || last.graph().is_foreign()) return "";
  auto target = parse_recorded_target(kernel_target(), last.graph().settings());
  // tensor graphs, and traces that end before the last stage, have no linear list
  UOp end = stage_result_of(last_graph_stage());
  if (kernel_target().empty() || !target || last_graph_stage() != kernel_stages().back().name) return "";
  if (!end.is(Op::SINK) || first_malformed_below(end)) return "";  // the graph may be invalid
  KernelJob job{last.graph(), *target};
  auto list = make_linear_list(job, end);
  if (!list) return list.diag().text() + "\n";
  size_t at = size_t(std::find(list->begin(), list->end(), last) - list->begin());
  if (at == list->size()) return "in the linear list\n    it is not there\n";
  std::string out = "in the linear list\n    line " + std::to_string(at + 1) + " of " + std::to_string(list->size()) +
                    "\nin the source\n";
  auto map = make_source_map(*target, *list);
  if (!map) return out + "    " + map.diag().text() + "\n";
  size_t user = at;
  while (user < list->size() && !map->lines_of_node[user].num_lines) user = next_user(*list, user);
  if (user == list->size()) return out + "    no line of its own, nor of what uses it\n";
  SourceLineRange lines = map->lines_of_node[user];
  if (user != at) out += "    inside the line of what uses it\n";
  for (size_t i = 0; i < lines.num_lines; i++)
    out +=
        "    line " + std::to_string(lines.first_line + i) + ": " + map->source_lines[lines.first_line + i - 1] + "\n";
  return out;
}

std::string_view NodeExplainer::last_graph_stage() const {
  bool list_too = stage_names().back() == "linear" && stage_names().size() > 1;
  return list_too ? stage_names()[stage_names().size() - 2] : stage_names().back();
}

}  // namespace tgc
