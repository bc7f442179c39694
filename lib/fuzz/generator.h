// Generates and mutates random kernels and tensor graphs. In one build, equal seeds give equal graphs.
#pragma once
#include <cstdint>
#include <span>

#include "lib/rewrite/rules.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"

namespace tgc {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : random_state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next();
  size_t random_below(size_t n) { return size_t(next() % n); }
  bool one_in(size_t n) { return random_below(n) == 0; }
  template <class List>
  auto random_item(const List& choices) {
    return *(std::begin(choices) + ptrdiff_t(random_below(std::size(choices))));
  }

 private:
  uint64_t random_state_;
};

// The row-major index over nested loops, the innermost last, and the number of iterations. Without loops, `position` is
// the empty UOp.
struct RowMajorIndex {
  UOp position = {};
  int64_t size = 1;
};
RowMajorIndex make_row_major_index(std::span<const UOp> loops);

// Returns true if the AST is valid, variables have distinct names, no loop's length depends on another loop, and a
// stored buffer is accessed only at the index of the store.
bool is_kernel(UOp ast);

// Returns a random kernel that computes with indices.
UOp random_algebra_kernel(Graph& graph, RandomSource& chance);

// Returns a matrix product, often of dtypes for which tensor cores exist.
UOp random_matmul_kernel(Graph& graph, RandomSource& chance);

// Returns the kernel with a few mutations and fitting buffers; the empty UOp if nothing changes, the result is
// malformed, or no buffers fit.
UOp grown_kernel(UOp ast, RandomSource& chance);

// Returns the graph with a few nodes inserted; the empty UOp if nothing changes or the result is malformed.
UOp mutated_tensor_graph(UOp sink, RandomSource& chance);

// Shortens loops of constant length to `most` iterations, and fits buffers to their accesses. Returns the empty UOp if
// no loop is longer, or if indices or buffers do not permit it.
UOp shrink_kernel(UOp ast, int64_t most);

// Returns a kernel that computes the same values, with one change such as swapped sources or a split loop; the empty
// UOp if no attempt finds one.
UOp make_equivalent_kernel(UOp ast, RandomSource& chance);

// Returns a kernel with numbers near the limits of dtypes or of float precision.
UOp random_edge_kernel(Graph& graph, RandomSource& chance);

// Returns a kernel on a grid with a size above a launch limit of the target, but small enough for REF; the empty UOp if
// the target has no local axes or no launch limits, or if no attempt makes such a kernel.
UOp random_grid_kernel(Graph& graph, RandomSource& chance, const Target& target);

// Returns a kernel with nodes made from the pattern (left side) of `rule`; the empty UOp if it cannot be made.
UOp random_pattern_kernel(Graph& graph, RandomSource& chance, const Rule& rule);

// Returns the SINK of a random tensor graph. Throws Failure if random choices contradict each other.
UOp random_tensor_graph(Graph& graph, RandomSource& chance);

}  // namespace tgc
