// Layered graph layout: nodes in rows, sources above their users. Uses no library, because it is also compiled to
// WebAssembly.
//
// The row of most nodes is their longest distance from nodes without sources. An edge between distant rows passes each
// row between them at a narrow slot. All edges of a source share these slots, which are the chain of the source. Edges
// over more than `max_edge_rows` rows are stubs, which are not drawn as lines. Each step takes at most O(n log n) time
// for n nodes and edges, and does not recurse.
//
// Nodes with a position in an earlier layout keep their order in a row and, if there is space for new nodes, almost
// their positions. With `should_keep_known_nodes`, they always keep their rows and positions.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace tgc {

struct LayoutInput {
  int32_t num_nodes = 0;
  // node i's sources are source[edge_begins[i]] to source[edge_begins[i + 1] - 1]
  const int32_t* edge_begins = nullptr;
  const int32_t* source = nullptr;  // a source has a smaller number than its user
  const float* node_sizes = nullptr;
  const float* earlier_positions = nullptr;  // NaN: the node is new
  const int32_t* earlier_rows = nullptr;     // -1: the node is new
  int32_t max_edge_rows = 4;                 // edges that span more rows are stubs
  float gap = 12;                            // minimum distance of neighbouring nodes in a row
  // If true, new nodes are put where there is space, even if a source is then not above its user. The edge from such a
  // source is a stub.
  bool should_keep_known_nodes = false;
};

struct LayoutOutput {
  float* node_centers = nullptr;
  int32_t* row = nullptr;
  uint8_t* is_stub_edge = nullptr;
  // The edges from node i, in row r, pass row r + 1 + k at chain_centers[chain_begins[i] + k]. An edge to row r + c
  // passes c - 1 rows; stubs pass none. chain_begins has nodes + 1 items.
  int32_t* chain_begins = nullptr;
  float* chain_centers = nullptr;  // at most nodes * (max_edge_rows - 1) items
};

// Returns the bytes of workspace that layout_graph() needs.
size_t layout_workspace_bytes(const LayoutInput& in);
// Stores the layout of `in` in the arrays of `out`. `workspace` has layout_workspace_bytes() bytes and is aligned to 8
// bytes.
void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace);

}  // namespace tgc
