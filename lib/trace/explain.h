// The story of one node: where it comes from, back to the AST, what becomes of it, and its places in the linear list
// and in the source.
#pragma once
#include <functional>
#include <string>

#include "lib/trace/provenance.h"

namespace tgc {

// Tells it of each kernel of a trace, when all of its events are known.
class Explainer : public Provenance {
 public:
  using Print = std::function<void(std::string_view)>;
  // The node's number in toposort of the graph after `stage`; an empty stage: of the last graph.
  Explainer(uint32_t node, std::string stage, bool color, Print print)
      : node_(node), stage_(std::move(stage)), color_(color), print_(std::move(print)) {}
  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void kernel_end() override;

  // Whether it was told of any kernel; an error where the stage never ran, or its graph has no such node.
  Status outcome() const;

 private:
  std::string in_the_end(UOp last);
  std::string_view last_graph() const;

  uint32_t node_;
  std::string stage_, target_;
  bool color_, found_ = false;
  Print print_;
  std::string too_far_;  // which nodes there are, when there is no such node
};

}  // namespace tgc
