// `tgc verify --structure`: checks the rules that graphs of all releases follow. In a linear list, sources come before
// users, ranges end only where they may, and the release of the graph has all ops, dtypes and enum values.
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

// Checks `nodes`: a linear list in its order if `is_list`, else all nodes of a graph with sources before users.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
