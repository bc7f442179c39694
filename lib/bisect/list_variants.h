// Makes variants of a linear list that show for which node the renderer prints wrong source code.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Makes variants of a linear list that also store what its nodes compute. Each node gets its own array, with one
// element for each iteration of the enclosing loops. So addresses and conditions can be compared, too.
class ObservedList {
 public:
  static constexpr int64_t kMostIterations = 4096;  // limit for the loops around a node; longer ones are shortened

  // The list must outlive this.
  explicit ObservedList(std::span<const UOp> list);

  // Whether all loops are short, or were shortened. A loop with a variable bound cannot be shortened.
  bool is_short() const { return is_short_; }
  // Returns the indices of the nodes that have a value, that is, all but pointers, memory and parameters.
  std::vector<size_t> values() const;
  // Returns the number of arrays that a node is stored to: one, or for a vector one for each element.
  size_t arrays_of(size_t node) const { return size_t(list_[node].dtype().count()); }
  std::string array_name(size_t node, size_t element) const;

  struct Variant {
    std::vector<size_t> watched = {};  // indices of the nodes whose values are stored
    size_t replaced = SIZE_MAX;        // index of a node whose users read its right value from added input arrays
    bool first_element_only = false;   // access only the first element of the kernel's own arrays: never out of bounds
  };
  std::vector<UOp> variant(const Variant& variant) const;

  // Returns when, during a run, the node computes that element of its arrays. A lesser moment is earlier.
  std::vector<int64_t> moment(size_t node, int64_t iteration) const;

 private:
  struct Loop {
    size_t at;     // index of a RANGE, or of a SPECIAL, which encloses the rest of the list
    int64_t size;  // number of iterations
    bool is_shortened = false;
  };
  class Builder;

  int64_t iterations(size_t node) const;
  void shorten(const std::vector<size_t>& around);

  std::span<const UOp> list_;
  std::vector<Loop> loops_;
  std::vector<std::vector<size_t>> around_;  // the loops around each node, outermost first; a loop encloses itself
  std::vector<int64_t> numbers_;             // number of each node's first array
  bool is_short_ = true;
};

// ---- scalar accesses: if they make a wrong kernel right, the renderer prints a vector access wrongly

// Returns whether a node loads or stores a vector at an INDEX of a buffer.
bool is_vector_access(UOp u);

// Whether the access breaks an assumption of C or LLVM IR: that a vector is aligned to its size, or that a vector of
// three elements has the size of four.
bool is_misaligned_vector(UOp access);

// Returns the list with each vector LOAD or STORE (those of `ops`) split into accesses of single elements.
std::vector<UOp> scalarize(std::span<const UOp> list, OpSet ops);

}  // namespace tgc
