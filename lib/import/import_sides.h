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

class SidesImporter {
 public:
  explicit SidesImporter(const Settings& settings);
  SidesImporter(const SidesImporter&) = delete;
  ~SidesImporter();

  Graph& graph() const;

  // Imports both nodes. They must be nodes of one graph, the same in all calls. Returns a pair of imported nodes for
  // each scalar of the two values; both nodes of a pair have the same dtype. A node without a value, such as a STORE or
  // a SINK, is a single pair. Returns no pairs if the two values have different shapes or dtypes. Fails if a node
  // cannot be imported.
  Result<std::vector<std::pair<UOp, UOp>>> import(UOp before, UOp after);

 private:
  void import_below(UOp u);
  std::unique_ptr<import::Importer> importer_;
  std::vector<bool> refused_;  // by id of the original node: whether its import was refused
};

}  // namespace tgc
