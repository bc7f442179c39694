// Imports both sides of recorded rewrites of another tinygrad release into one graph of tgc's IR, so that the sides can
// be compared.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "lib/import/import.h"

namespace tgc {

namespace import {
class Importer;
}

// Returns true if a node of a recorded graph is a loop that the expander replaces by all of its values.
bool is_expanded_range(UOp u);

class SidesImporter {
 public:
  explicit SidesImporter(const Settings& settings);
  SidesImporter(const SidesImporter&) = delete;
  ~SidesImporter();

  Graph& graph() const;

  struct Imported {
    std::vector<std::pair<UOp, UOp>> pairs;
    double tolerance = 0;  // largest relative difference that rounding explains if one side emulates a float dtype
  };
  // Imports both nodes. They must be nodes of one graph, the same in all calls. Returns a pair of imported nodes for
  // each scalar of the two values; both nodes of a pair have the same dtype. Nodes without a value, such as SINKs, give
  // one pair; two STOREs of a number may give a pair of places and a pair of numbers. Returns no pairs if the nodes
  // cannot be compared, for example because their shapes differ. Fails if a node cannot be imported.
  Result<Imported> import(UOp before, UOp after);

 private:
  void import_below(UOp u);
  std::unique_ptr<import::Importer> importer_;
  std::vector<bool> refused_;  // indexed by the id of an original node: true if the node could not be imported
};

}  // namespace tgc
