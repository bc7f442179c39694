// The inverse of import_graph: writes a kernel AST of tgc's IR in the IR of another tinygrad release.
#pragma once
#include "lib/import/import.h"

namespace tgc {

struct ExportedGraph {
  std::shared_ptr<Graph> graph;  // a graph of the requested release
  UOp root;
};

// Returns a graph of `release` that computes the same as the kernel AST under `root`. Fails if `release` is older than
// 0.13, or if a node has no counterpart; the error names the op and the reason.
Result<ExportedGraph> export_ast(UOp root, Release release);

// Returns the graph under `root`, a node of `graph`, as a graph of `release`. Returns a kernel AST or tensor graph of
// `release` unchanged. Converts a kernel AST of another release: imports it into tgc's IR, that of 0.12, and exports it
// to `release`. Fails if the import or the export fails.
Result<ExportedGraph> ast_for(const std::shared_ptr<Graph>& graph, UOp root, Release release);

}  // namespace tgc
