// Turns a graph of another tinygrad release (0.11 to 0.14, or master) into a graph of tgc's own IR, that of 0.12.0,
// which computes the same. README.md describes how.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Maps each node of an imported graph to the node of the original graph that it was made for.
class ImportOrigins {
 public:
  // Returns the original node of `imported`; the empty UOp if a later rewrite made `imported`.
  UOp of(UOp imported) const { return imported.id() < nodes_.size() ? nodes_[imported.id()] : UOp(); }
  // Records that the nodes of `to` without an origin were made for `original`.
  void add(const Graph& to, UOp original) { nodes_.resize(to.size(), original); }

 private:
  std::vector<UOp> nodes_;  // indexed by the id of the imported node
};

struct ImportedGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;  // nodes in order if the original is a linear list; else empty
  std::shared_ptr<const ImportOrigins> origins;
};

// Why a graph cannot be imported: one of its nodes has no counterpart in tgc's IR.
struct NotImportable {
  UOp node;            // the original node
  std::string op;      // its op, such as "CALL"; also if no known release has the op
  std::string reason;  // such as "it calls a function"

  std::string text() const { return "cannot import Ops." + op + ": " + reason; }
};

// Returns the linear list of a compiled kernel, a PROGRAM; empty if `root` is none or has no list.
std::span<const UOp> list_of_program(UOp root);

// Imports the graph under `root`, or, if `list` is not empty, the linear list, whose last node is `root`. The imported
// graph gets `settings`. If the graph cannot be imported, `why` (may be null) gets the details of the error. The
// original graph must outlive the origins.
Result<ImportedGraph> import_graph(UOp root, std::span<const UOp> list = {}, const Settings& settings = {},
                                   NotImportable* why = nullptr);

}  // namespace tgc
