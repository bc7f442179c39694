// Generates well-formed random kernels and tensor graphs, and mutates existing ones; equal seeds give equal graphs.
// Constants and sizes are often near numbers that decide whether a rule applies, such as divisors and limits of dtypes.
// lib/fuzz/random_kernel.h generates kernels of arithmetic in many dtypes.
#pragma once
#include <cstdint>
#include <span>

#include "lib/rewrite/rules.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"

namespace tgc {

// A random number generator, with the algorithm splitmix64.
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : random_state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next();
  // Returns a random number from 0 to n - 1.
  size_t random_below(size_t n) { return size_t(next() % n); }
  bool one_in(size_t n) { return random_below(n) == 0; }
  template <class List>
  auto random_item(const List& choices) {
    return *(std::begin(choices) + ptrdiff_t(random_below(std::size(choices))));
  }

 private:
  uint64_t random_state_;
};

// The row-major index over nested loops, of which the last is the innermost: `position` is the number of the current
// iteration, from 0, and `size` the number of iterations. Without loops, `position` is the empty UOp, and `size` is 1.
struct RowMajorIndex {
  UOp position = {};
  int64_t size = 1;
};
RowMajorIndex row_major_index(std::span<const UOp> loops);

// Returns true if tinygrad's scheduler could make this AST: the AST is valid, variables have distinct names, no loop's
// length depends on another loop, and a buffer that is stored to is accessed only at the index of the store, so that
// iterations can run in any order.
bool is_kernel(UOp ast);

// Returns the AST of a random kernel that computes with indices: sums, products, quotients, comparisons.
UOp algebra_kernel(Graph& graph, RandomSource& chance);

// Returns the AST of a matrix product, often of dtypes for which tensor cores exist.
UOp matmul_kernel(Graph& graph, RandomSource& chance);

// Returns a copy of the kernel with a few mutations: other constants, loop sizes or ops, swapped alternatives of a
// WHERE, or further ops on an index. Resizes buffers so that accesses are in bounds. Returns the empty UOp if the
// mutations change nothing, or give no valid kernel.
UOp grown_kernel(UOp ast, RandomSource& chance);

// Returns the tensor graph with copies, CONTIGUOUS, casts and ops inserted at random. Returns the empty UOp if the
// random choices change nothing, or make the graph malformed.
UOp grown_tensor_graph(UOp sink, RandomSource& chance);

// Returns the kernel with every loop of constant length shortened to at most `most` iterations, and with buffers of the
// size that the loops access. Returns the empty UOp if no loop is longer, or if these sizes cannot be computed.
UOp smaller_kernel(UOp ast, int64_t most);

// Returns another kernel that computes the same values: x + 0 or x * 1 replaces an index, sources are swapped, a node
// gets a tag, or a loop is split into two. Returns the empty UOp if no random attempt finds such a change.
UOp equivalent_kernel(UOp ast, RandomSource& chance);

// Generators of kernels with numbers near limits: of float precision, of dtypes, of launch sizes. Such kernels find
// rules that compute with unbounded integers although the kernel computes in a dtype with a limit, or the reverse.

// Returns a random AST that does one of the following:
//   - compares a multiple of an index with a number near another multiple, up to about 2^61
//   - casts an index near the largest integer that a float holds exactly to that float, and compares it
//   - computes with small integers and constants, of which many are near the ends of their dtype
UOp edge_kernel(Graph& graph, RandomSource& chance);

// Returns an AST whose loops become GPU threads. At least one size of the grid exceeds the target's launch limit.
// Returns the empty UOp if the target has no work groups or launch limit, or if a larger grid is too large for REF.
UOp grid_kernel(Graph& graph, RandomSource& chance, const Target& target);

// Generator of kernels from the patterns (left sides) of rules. A kernel stores a node that matches the pattern; where
// the pattern accepts any operand, the operand is random. This tests rules that rarely apply in other kernels.

// Returns an AST in which the pattern of `rule` matches, unless another rule rewrites the matching nodes first. Returns
// the empty UOp if the generator cannot make nodes that match, or if random choices contradict each other.
UOp pattern_kernel(Graph& graph, RandomSource& chance, const Rule& rule);

// Generator of small random tensor graphs; equal seeds give equal graphs. The graphs have movements, reductions and
// arithmetic on one or several devices, copies, assignments, files, variables in shapes, and tensors without elements.

// Returns the sink of a tensor graph with a few outputs. Throws Failure if random choices contradict each other.
UOp tensor_graph(Graph& graph, RandomSource& chance);

}  // namespace tgc
