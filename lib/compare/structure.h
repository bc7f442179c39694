// `tgc verify --structure`: checks rules that hold for all releases. In a linear list, sources come before their users,
// and ranges end only where they may. The graph's release must have all of its ops, dtypes and enum values.
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
  std::vector<size_t> positions;            // for each error: the index of its node
  std::map<std::string, size_t> not_known;  // by name that this release does not have: number of uses

  bool ok() const { return wrong.empty(); }
  std::string text(const std::string& name) const;
  std::string json(const std::string& name) const;
};

// Checks `nodes`: a linear list if `is_list`; else the nodes of a graph in toposort order.
StructureReport check_structure(std::span<const UOp> nodes, bool is_list);

}  // namespace tgc
