// Imports both sides of recorded rewrites of another tinygrad release into one graph of tgc's IR.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "lib/import/import.h"

namespace tgc {

namespace import {
class Importer;
}

// Returns true for a loop of a recorded graph that the expander replaces by all of its values.
bool is_expanded_range(UOp u);

class SidesImporter {
 public:
  explicit SidesImporter(const Settings& settings);
  SidesImporter(const SidesImporter&) = delete;
  ~SidesImporter();

  Graph& graph() const;

  struct ImportedSides {
    std::vector<std::pair<UOp, UOp>> pairs;
    double tolerance = 0;  // largest relative difference that rounding explains if one side emulates a float dtype
  };
  // Imports two nodes of one graph, the same graph in all calls. Returns pairs of imported nodes: the sides are equal
  // if the nodes of each pair are; no pairs if the sides cannot be compared. Fails if a node cannot be imported.
  Result<ImportedSides> import(UOp before, UOp after);

 private:
  void import_nodes_below(UOp u);
  std::unique_ptr<import::Importer> importer_;
  std::vector<bool> is_refused_;  // by id of an original node: true if its import has failed
};

}  // namespace tgc
