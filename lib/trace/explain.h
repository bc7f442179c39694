// `tgc trace --explain`: prints the history of one node or of all. The history of one node consists of the rewrites
// from the AST to the node, the rewrites from the node to the last graph, and the node's lines in the linear list and
// in the source.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/trace/provenance.h"

namespace tgc {

// Collects the events of each kernel of a trace. At the end of a kernel, prints the history of the node.
class Explainer : public Provenance {
 public:
  using Print = std::function<void(std::string_view)>;
  // `node` is the node's position in the toposort after the stage `stage` or, if `stage` is empty, after the last
  // stage. If `is_trace_number` is set, `node` is the number #N of a node in the trace: a node of the graph after
  // `stage` or, if `stage` is empty, of the last graph that has it. Without `node`, prints the histories of all nodes
  // as JSON (Provenance::to_json).
  Explainer(std::optional<uint32_t> node, std::string stage, bool color, Print print, bool is_trace_number = false)
      : node_number_(node),
        is_trace_number_(is_trace_number),
        stage_name_(std::move(stage)),
        use_color_(color),
        print_text_(std::move(print)) {}
  void end_kernel() override;

  // Returns an error if no kernel ran the stage, or if no kernel has the node: a node at this position after the stage,
  // or for a number of the trace, a node with this number in a graph after a stage.
  Status outcome() const;

 private:
  std::string final_places(UOp last);
  std::string_view last_graph() const;

  void explain_number();

  std::optional<uint32_t> node_number_;
  bool is_trace_number_;
  std::string stage_name_;
  bool use_color_, was_node_found_ = false;
  Print print_text_;
  std::vector<std::string> known_stages_;  // names of the stages of the last kernel, for the error
  std::string valid_nodes_;                // the range of valid node numbers, for the error
};

}  // namespace tgc
