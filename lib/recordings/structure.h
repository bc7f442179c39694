// `tgc verify --structure`: checks what holds for graphs of every release. A linear list is in order, ranges end where
// they may, and the graph has only ops, dtypes and enum values of the release that it names.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

struct StructureReport {
  size_t nodes = 0;
  std::vector<std::string> wrong;           // errors: "node 4: Ops.ADD stands before one of its sources"
  std::map<std::string, size_t> not_known;  // names that the release lacks as far as tgc knows, with their counts

  bool ok() const { return wrong.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// `is_list`: `nodes` is a linear list in its order; otherwise all nodes of a graph, sources first.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
