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
  UOp original_of(UOp imported) const {
    return imported.id() < original_nodes_.size() ? original_nodes_[imported.id()] : UOp();
  }
  // Records that the nodes of `to` without an origin were made for `original`.
  void record_origin(const Graph& to, UOp original) { original_nodes_.resize(to.size(), original); }

 private:
  std::vector<UOp> original_nodes_;  // indexed by the id of the imported node
};

struct ImportedGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;  // nodes in order if the original is a linear list; else empty
  std::shared_ptr<const ImportOrigins> origins;
};

// The node that prevents the import of a graph, because it has no counterpart in tgc's IR.
struct NotImportable {
  UOp node;            // the node of the original graph
  std::string op;      // the name of the node's op, such as "CALL", as the file writes it
  std::string reason;  // why the node has no counterpart, such as "it calls a function"

  std::string text() const { return "cannot import Ops." + op + ": " + reason; }
};

// Returns the linear list of a compiled kernel. Empty if `root` is no PROGRAM, or a PROGRAM without a list.
std::span<const UOp> list_of_program(UOp root);

// Imports the graph under `root`, or, if `list` is not empty, the linear list, whose last node is `root`. If `root` is
// a PROGRAM and `list` is empty, imports the PROGRAM's own linear list, or if it has none, the graph under its first
// source. The imported graph has the settings `settings`. If the graph cannot be imported, sets `why` (may be null) to
// the details of the error. The original graph must outlive the origins.
Result<ImportedGraph> import_graph(UOp root, std::span<const UOp> list = {}, const Settings& settings = {},
                                   NotImportable* why = nullptr);

}  // namespace tgc
