// `tgc verify`: checks the nodes of a graph, and rules that hold for the graphs of every release.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/spec/spec.h"
#include "lib/uop/graph.h"

namespace tgc {

// `tgc verify`: finds the first node of a graph that is not valid by tinygrad's specification.

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

// `tgc verify --structure`: checks rules that hold for all releases. In a linear list, sources come before their users,
// and ranges end only where they may. The graph's release must have all of its ops, dtypes and enum values.
struct StructureReport {
  size_t nodes = 0;
  std::vector<std::string> wrong;           // errors, such as "node 4: Ops.ADD stands before one of its sources"
  std::vector<size_t> positions;            // for each error: the index of its node
  std::map<std::string, size_t> not_known;  // by name that this release does not have: number of uses

  bool ok() const { return wrong.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// Checks `nodes`: a linear list if `is_list`; else the nodes of a graph in toposort order.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
