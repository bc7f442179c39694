// `tgc trace --explain`: prints the history of one node: the rewrites from the AST to the node, the rewrites of the
// node until the last graph, and its positions in the linear list and in the source.
#pragma once
#include <functional>
#include <string>

#include "lib/trace/provenance.h"

namespace tgc {

// Collects the events of each kernel of a trace and prints the node's history at the kernel's end.
class Explainer : public Provenance {
 public:
  using Print = std::function<void(std::string_view)>;
  // `node`: number in the toposort of the graph after `stage`, whose history is printed; empty `stage`: the last graph.
  Explainer(uint32_t node, std::string stage, bool color, Print print)
      : node_(node), stage_(std::move(stage)), color_(color), print_(std::move(print)) {}
  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void kernel_end() override;

  // Returns an error if the stage never ran, or if no kernel has a node of that number after the stage.
  Status outcome() const;

 private:
  std::string final_places(UOp last);
  std::string_view last_graph() const;

  uint32_t node_;
  std::string stage_, target_;
  bool color_, found_ = false;
  Print print_;
  std::string valid_nodes_;  // for the error message: the valid node numbers
};

}  // namespace tgc
