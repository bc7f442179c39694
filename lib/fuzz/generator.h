// Well-formed kernels at random, the same for the same seed: index algebra with constants where rules change their mind
// (around divisors and sizes, at the edges of dtypes, negative numerators, divisors larger than what they divide),
// arithmetic in many dtypes (lib/compilation/random_kernel.h), and kernels grown from others by small changes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// splitmix64
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next();
  size_t below(size_t n) { return size_t(next() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class List>
  auto one_of(const List& choices) {
    return *(std::begin(choices) + ptrdiff_t(below(std::size(choices))));
  }

 private:
  uint64_t state_;
};

// The element of loops that run over an array, the last one fastest, and how many elements that is. Of no loops: the
// empty UOp, 1.
struct RowMajor {
  UOp at = {};
  int64_t size = 1;
};
RowMajor row_major(std::span<const UOp> loops);

// Whether it is a kernel's AST as tinygrad's scheduler may make it: sound, each variable has a name of its own, no loop
// is as long as another's turn says, and no element that is stored is read but by what stores it, for loops run in any
// order.
bool is_kernel(UOp ast);

// A kernel's AST of index algebra.
UOp algebra_kernel(Graph& graph, Chance& chance);

// A matrix product of dtypes that tensor cores take, and others.
UOp matmul_kernel(Graph& graph, Chance& chance);

// The kernel with a few things in it changed: constants, sizes of loops, operations, an index wrapped in what leaves it
// as it is or folds it. Its buffers are as large as what is reached in them. The empty UOp: nothing came of it.
UOp grown_kernel(UOp ast, Chance& chance);

// The same of a tensor graph: copies, contiguous tensors, casts and operations in between. The empty UOp: nothing came
// of it.
UOp grown_tensor_graph(UOp sink, Chance& chance);

// The kernel with loops of at most that many iterations, and buffers as large as what is reached. The empty UOp: it has
// none that are longer, or its buffers cannot be fitted.
UOp smaller_kernel(UOp ast, int64_t most);

// Another kernel that computes the same: x + 0, swapped sources, a loop split in two. The empty UOp: there is none.
UOp equivalent_kernel(UOp ast, Chance& chance);

}  // namespace tgc
