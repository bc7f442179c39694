// `tgc verify`: checks the nodes of a graph by the specification of tinygrad 0.12.0, or by rules of all releases.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/spec/spec.h"
#include "lib/uop/graph.h"

namespace tgc {

// The first node that violates the specification, or that tgc's stages cannot handle.
struct InvalidNode {
  UOp node;
  size_t position = 0;         // index in the verified nodes
  const Rule* rule = nullptr;  // of the specification; null if none rejects the node
  std::string text;
};

// Returns the specification for a linear list, a tensor graph, or a kernel's graph after `stage`.
Spec find_fitting_spec(bool is_list, bool is_tensor_graph, std::string_view stage);

// Checks `nodes`: a linear list if `is_list`; else the nodes of a graph in toposort order. Returns nullopt if all nodes
// are valid.
std::optional<InvalidNode> first_invalid_node(std::span<const UOp> nodes, Spec spec, bool is_list);

// The result of `tgc verify --structure`, which checks what holds in all releases: arithmetic ops have the right number
// of sources, each RANGE has a size, and a linear list is in order (first_unordered_node()). Also counts names that the
// graph's release does not have.
struct StructureReport {
  size_t num_nodes = 0;
  std::vector<std::string> node_errors;         // such as "node 4: Ops.ADD stands before one of its sources"
  std::vector<size_t> error_positions;          // by error: the index of its node
  std::map<std::string, size_t> unknown_names;  // uses of each name (op, dtype, ...) that the release lacks

  bool ok() const { return node_errors.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// Checks `nodes`: a linear list if `is_list`; else the nodes of a graph in toposort order.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
