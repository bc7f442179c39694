// Turns a graph of another tinygrad release into a graph of tgc's own IR, that of 0.12.0, which computes the same.
// README.md describes how.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Maps nodes of an imported graph to the nodes of the original graph that they were made for.
class ImportOrigins {
 public:
  // Returns the empty UOp if a later rewrite made `imported`.
  UOp original_of_node(UOp imported) const {
    return imported.id() < original_nodes_.size() ? original_nodes_[imported.id()] : UOp();
  }
  // Records that the nodes of `to` without an origin were made for `original`.
  void record_origin(const Graph& to, UOp original) { original_nodes_.resize(to.size(), original); }

 private:
  std::vector<UOp> original_nodes_;  // by id of the imported node
};

struct ImportedGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;  // nodes in order, if the original is a linear list
  std::shared_ptr<const ImportOrigins> origins;
};

// The node that prevents the import of a graph.
struct NonImportableNode {
  UOp node;  // of the original graph
  std::string op;  // as the file writes it, such as "CALL"
  std::string reason;

  std::string text() const { return "cannot import Ops." + op + ": " + reason; }
};

// Returns the linear list of a compiled kernel; empty if `root` is no PROGRAM, or a PROGRAM without a list.
std::span<const UOp> list_of_program(UOp root);

// Imports the graph under `root`, or, if `list` is not empty, this linear list, whose last node is `root`. For a
// PROGRAM, imports its own linear list, or else the graph under its first source. If a node cannot be imported, sets
// `why` (may be null). The original graph must outlive the origins.
Result<ImportedGraph> import_graph(UOp root, std::span<const UOp> list = {}, const Settings& settings = {},
                                   NonImportableNode* why = nullptr);

}  // namespace tgc
