// Layered graph layout: rows of nodes, with the sources at the top. The code uses no library, because it is compiled
// for the program and (by clang, to wasm32) for the page.
//
// The row of most nodes is their longest distance from nodes without sources. An edge that spans rows occupies a narrow
// slot in each row between; all edges of a source share these slots, its chain. Edges over more than `max_edge_rows`
// rows are stubs, which are drawn as names. Sweeps over the rows determine the order in each row, then the positions.
// Each step takes at most O(n log n) and does not recurse.
//
// A node with an `earlier_positions`, its position in an earlier layout, keeps its order among such nodes, and its
// position if there is enough room for new nodes. With `keeps_known_nodes`, such a node always keeps its row and
// position.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace tgc {

struct LayoutInput {
  int32_t nodes = 0;
  const int32_t* first = nullptr;            // node i's sources are source[first[i]] to source[first[i + 1] - 1]
  const int32_t* source = nullptr;           // the sources of all nodes; a source has a smaller number than its user
  const float* size = nullptr;               // width of each node
  const float* earlier_positions = nullptr;  // position of each node in an earlier layout; NaN: the node is new
  const int32_t* earlier_rows = nullptr;     // row of each node in an earlier layout; -1: the node is new
  int32_t max_edge_rows = 4;                 // maximum number of rows that an edge spans; a longer edge is a stub
  float gap = 12;                            // minimum distance of neighbours in a row
  // True: nodes with an `earlier_positions` never move. New nodes are put where there is room, even if a source is then
  // below its user; the edge between these two becomes a stub.
  bool keeps_known_nodes = false;
};

struct LayoutOutput {
  float* node_centers = nullptr;    // centre of each node in its row
  int32_t* row = nullptr;           // row of each node
  uint8_t* is_stub_edge = nullptr;  // 1 for each edge that is a stub
  // The edges of node i in row r pass row r + 1 + k at position chain_at[chain_first[i] + k]. An edge to row r + c
  // passes c - 1 rows; stubs pass none. chain_first has nodes + 1 items.
  int32_t* chain_first = nullptr;
  float* chain_at = nullptr;            // at most nodes * (max_edge_rows - 1) items
};

// Returns the number of bytes of workspace that layout_graph() needs.
size_t layout_workspace(const LayoutInput& in);
// Computes the layout of `in` and stores it in the arrays of `out`. `workspace` has layout_workspace() bytes and is
// aligned to 8 bytes.
void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace);

}  // namespace tgc
