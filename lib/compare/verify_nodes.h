// `tgc verify`: finds the first node of a graph that is not valid by tinygrad's specification.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "lib/spec/spec.h"

namespace tgc {

// The reported problem: the first violation of the specification, or else the first node that passes cannot handle.
struct InvalidNode {
  UOp node;
  size_t position = 0;         // index of the node in the verified nodes
  const Rule* rule = nullptr;  // the rule that rejects the node; null: none
  std::string text;
};

// Returns the specification for a linear list, a tensor graph, or a kernel's graph after `stage`.
Spec fitting_spec(bool is_list, bool is_tensor_graph, std::string_view stage);

// Checks `nodes`: a linear list if `is_list`; else the nodes of a graph in toposort order. Returns nullopt if all nodes
// are valid.
std::optional<InvalidNode> first_invalid(std::span<const UOp> nodes, Spec spec, bool is_list);

}  // namespace tgc
