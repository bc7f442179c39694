// What a graph of any release has, whatever its rules are: a list in order, ranges that end where they may, and ops,
// dtypes and enums of the release that it says it is of. `tgc verify --structure`.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

struct StructureReport {
  size_t nodes = 0;
  std::vector<std::string> wrong;              // what cannot be: "node 4: Ops.ADD stands before one of its sources"
  std::map<std::string, size_t> not_known;     // what the release does not have as far as we know, and how often

  bool ok() const { return wrong.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// `is_list`: the nodes are a linear list, in its order; else all of a graph, sources first.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
