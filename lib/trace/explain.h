// `tgc trace --explain`: prints the history of one node, or of all nodes as JSON.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/trace/provenance.h"

namespace tgc {

// At the end of each kernel of a trace, prints the history of one node, if the kernel has it, or all histories as JSON.
class NodeExplainer : public NodeProvenance {
 public:
  using Print = std::function<void(std::string_view)>;
  // `node` is a position in the toposort after `stage` (the last graph if `stage` is empty) or, if `is_trace_number` is
  // set, the number #N of a node in the graph after `stage` (after any stage if `stage` is empty).
  NodeExplainer(std::optional<uint32_t> node, std::string stage, bool color, Print print, bool is_trace_number = false)
      : node_number_(node),
        is_trace_number_(is_trace_number),
        stage_name_(std::move(stage)),
        uses_color_(color),
        print_text_(std::move(print)) {}
  void end_kernel() override;

  // Returns an error if no kernel has the stage and the node.
  Status outcome() const;

 private:
  std::string final_places_text(UOp last);
  std::string_view last_graph_stage() const;

  void explain_trace_number();

  std::optional<uint32_t> node_number_;
  bool is_trace_number_;
  std::string stage_name_;
  bool uses_color_, was_node_found_ = false;
  Print print_text_;
  std::vector<std::string> known_stages_;
  std::string valid_nodes_text_;
};

}  // namespace tgc
