// Layered graph layout: rows of nodes with the sources at the top. Plain C++ without libraries, so that the same file
// is compiled for the program and (by clang, to wasm32) for the page.
//
// A node's row is its distance from the sources, so a node that stays in the graph keeps its row. An edge over several
// rows passes through narrow slots in the rows between, one chain for all edges of a source; the longest edges become
// stubs, which are drawn as names. Sweeps over the rows determine the order within each row; pooling neighbours that
// would overlap determines the positions. Every step takes O(n log n) at most and is not recursive.
//
// Nodes can keep earlier positions: a node with a `want` keeps its order among such nodes, and its position as far as
// new nodes leave room; with `strict` it always keeps its row and position.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace tgc {

struct LayoutInput {
  int32_t nodes = 0;
  const int32_t* first = nullptr;       // node i's sources are source[first[i]] to source[first[i + 1] - 1]
  const int32_t* source = nullptr;      // the sources of all nodes; a source has a smaller number than its user
  const float* size = nullptr;          // width of each node
  const float* want = nullptr;          // earlier position of each node; NaN: the node is new
  const int32_t* want_row = nullptr;    // earlier row of each node; -1: none
  int32_t longest = 4;                  // an edge from row to row over more rows than this becomes a stub
  float gap = 12;                       // minimum distance of neighbours in a row
  // Nodes with a `want` never move. New nodes go where there is room, even if a source is then below its user; the edge
  // between these two becomes a stub.
  bool strict = false;
};

struct LayoutOutput {
  float* at = nullptr;                  // centre of each node in its row
  int32_t* row = nullptr;               // row of each node
  uint8_t* stub = nullptr;              // 1 for each edge that is a stub
  // The chain of node i has its edges' positions in the rows that edges other than stubs pass: chain_at[chain_first[i]]
  // in the next row, and so on. An edge to a node c rows below passes c - 1 elements. chain_first has nodes + 1 items.
  int32_t* chain_first = nullptr;
  float* chain_at = nullptr;            // at most nodes * (longest - 1) items
};

// Returns the bytes of workspace that layout_graph needs.
size_t layout_workspace(const LayoutInput& in);
// Computes the layout. `workspace` must be aligned to 8 bytes.
void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace);

}  // namespace tgc
