// `tgc verify --structure`: checks what graphs of every release satisfy. A linear list is in order, ranges end only
// where they may, and all ops, dtypes and enum values exist in the release that the graph names.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

struct StructureReport {
  size_t nodes = 0;
  std::vector<std::string> wrong;           // errors, such as "node 4: Ops.ADD stands before one of its sources"
  std::map<std::string, size_t> not_known;  // names that tgc does not know in this release, with their counts

  bool ok() const { return wrong.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// Checks `nodes`. `is_list`: they are a linear list in its order; otherwise all nodes of a graph, sources first.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
