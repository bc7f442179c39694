// Generates well-formed random kernels, the same ones for the same seed: index algebra with constants near the limits
// at which rules apply (divisors, sizes, ends of dtypes, negative numerators, divisors larger than the dividend), and
// mutations of other kernels. lib/compilation/random_kernel.h generates arithmetic in many dtypes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// A random number generator, with the algorithm splitmix64.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next();
  // Returns a number below n.
  size_t uniform(size_t n) { return size_t(next() % n); }
  bool one_in(size_t n) { return uniform(n) == 0; }
  template <class List>
  auto one_of(const List& choices) {
    return *(std::begin(choices) + ptrdiff_t(uniform(std::size(choices))));
  }

 private:
  uint64_t state_;
};

// A UOp for the row-major number of the current iteration of `loops`, where the last loop runs fastest, and the number
// of iterations; without loops, the empty UOp and 1.
struct RowMajor {
  UOp at = {};
  int64_t size = 1;
};
RowMajor row_major(std::span<const UOp> loops);

// Returns whether tinygrad's scheduler could make this AST: the AST is valid, variables have distinct names, no loop's
// length depends on another loop, and a stored element is read only by the store to it, so that the loops can run in
// any order.
bool is_kernel(UOp ast);

// Returns the AST of a random kernel of index algebra.
UOp algebra_kernel(Graph& graph, Chance& chance);

// Returns the AST of a matrix product, often of dtypes that tensor cores take.
UOp matmul_kernel(Graph& graph, Chance& chance);

// Returns the kernel with a few mutations: other constants, loop sizes or ops, or an index inside ops that keep its
// value or reduce its range. Buffers fit their largest index. The empty UOp if no mutation gave a valid kernel.
UOp grown_kernel(UOp ast, Chance& chance);

// Returns the tensor graph with random copies, CONTIGUOUS, casts and ops inserted. The empty UOp if none of them fits.
UOp grown_tensor_graph(UOp sink, Chance& chance);

// Returns the kernel with its loops cut to `most` iterations and its buffers to the needed size. Returns the empty UOp
// if no loop is longer than `most`, or the needed sizes are unknown.
UOp smaller_kernel(UOp ast, int64_t most);

// Returns another kernel that computes the same, changed by x + 0, by swapped sources, or by splitting a loop into two.
// Returns the empty UOp if no such change is possible.
UOp equivalent_kernel(UOp ast, Chance& chance);

}  // namespace tgc
