// The layout of a graph as rows of nodes, sources at the top, as plain C++ without any library: the same file is
// compiled for the program and, by clang to wasm32, for the page.
//
// A row is a node's distance from the sources, so a node that stays in the graph keeps its row. Edges over
// several rows run through narrow places of their own in between, one chain for all edges of a source; the longest
// become stubs, which are drawn as names. The order within a row comes from sweeps over the rows, the places from
// pooling neighbours that would overlap. Every step is linear or n log n, and nothing recurs.
//
// What was drawn before can be asked to stay: a node with a `want` keeps its order among those that have one, and its
// place as far as there is room for what came; with `strict` it keeps row and place whatever came.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace tgc {

struct LayoutInput {
  int32_t nodes = 0;
  const int32_t* first = nullptr;       // node i's sources are source[first[i]] to source[first[i + 1] - 1];
  const int32_t* source = nullptr;      // each is smaller than i
  const float* size = nullptr;          // of each node, along its row
  const float* want = nullptr;          // the place it had; NaN: none
  const int32_t* want_row = nullptr;    // the row it had; -1: none
  int32_t longest = 4;                  // an edge over more rows is a stub
  float gap = 12;                       // between neighbours of a row
  // Nothing that was drawn before moves: what came stands where there is room, though a source may then stand below its
  // user. Such an edge, too, is a stub.
  bool strict = false;
};

struct LayoutOutput {
  float* at = nullptr;                  // of each node: its middle, along the row
  int32_t* row = nullptr;               // of each node
  uint8_t* stub = nullptr;              // of each edge: whether it is one
  // The edges of node i that are no stubs go through chain_at[chain_first[i]] in the next row, + 1 in the one below
  // it, and so on: an edge to a node c rows below passes the first c - 1 of them. chain_first has nodes + 1.
  int32_t* chain_first = nullptr;
  float* chain_at = nullptr;            // nodes * (longest - 1) at most
};

// How many bytes of work space layout_graph needs.
size_t layout_workspace(const LayoutInput& in);
// `workspace` is aligned to 8 bytes.
void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace);

}  // namespace tgc
