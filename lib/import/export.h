// The inverse of import_graph: writes a kernel AST of tgc's IR in the IR of another tinygrad release.
#pragma once
#include "lib/import/import.h"

namespace tgc {

struct ExportedGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
};

// Returns a graph of `release` that computes the same as the kernel AST under `root`. Fails if `release` is older than
// 0.13, or if a node cannot be exported.
Result<ExportedGraph> export_ast(UOp root, Release release);

// Returns the graph under `root`, a node of `graph`, as a graph of `release`: unchanged, imported,
// exported, or imported and then exported. Fails if the import or the export fails.
Result<ExportedGraph> ast_for_release(const std::shared_ptr<Graph>& graph, UOp root, Release release);

}  // namespace tgc
