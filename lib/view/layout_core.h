// Layered graph layout: nodes in rows, sources above their users. The code uses no library, because it is compiled both
// for the program and, to WebAssembly, for the page.
//
// The row of most nodes is their longest distance from nodes without sources. An edge between distant rows has a narrow
// place in each row between them; all edges of a source share these places, the source's chain. Edges over more than
// `max_edge_rows` rows are stubs: the page draws the names of their ends instead of a line. Sweeps over the rows
// determine the order in each row, then the positions. Each step takes at most O(n log n) and does not recurse.
//
// Nodes that have a position in an earlier layout (`earlier_positions`) keep their order, and their positions if there
// is enough space for new nodes. With `keeps_known_nodes`, they always keep their rows and positions.
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
  float gap = 12;                            // minimum distance of neighbouring nodes in a row
  // True: nodes with an earlier position do not move. New nodes are put where there is space, even if a source is then
  // below its user; the edge between these two becomes a stub.
  bool keeps_known_nodes = false;
};

struct LayoutOutput {
  float* node_centers = nullptr;    // centre of each node in its row
  int32_t* row = nullptr;           // row of each node
  uint8_t* is_stub_edge = nullptr;  // 1 for each edge that is a stub
  // The edges from node i, which is in row r, pass row r + 1 + k at position chain_slots[chain_first[i] + k]. An edge
  // to row r + c passes c - 1 rows; stubs pass none. chain_first has nodes + 1 items.
  int32_t* chain_first = nullptr;
  float* chain_slots = nullptr;     // at most nodes * (max_edge_rows - 1) items
};

// Returns the number of bytes of workspace that layout_graph() needs.
size_t layout_workspace(const LayoutInput& in);
// Computes the layout of `in` and stores it in the arrays of `out`. `workspace` has layout_workspace() bytes and is
// aligned to 8 bytes.
void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace);

}  // namespace tgc
