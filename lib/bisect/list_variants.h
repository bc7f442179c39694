#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Makes variants of a linear list that also store the values of its nodes. Each watched node gets an array (a vector:
// one for each of its elements), with one element per iteration of the loops around the node.
class ObservedList {
 public:
  static constexpr int64_t kMaxIterations = 4096;

  // `list` must outlive this object. With `stores_words`, integers and bools of less than 32 bits are stored as int32
  // or uint32, because WGSL has no arrays of them.
  explicit ObservedList(std::span<const UOp> list, bool stores_words = false);

  // Returns true if, after loops were shortened, no node is evaluated more than kMaxIterations times. SPECIALs and
  // loops with a variable bound cannot be shortened.
  bool is_short_list() const { return is_short_; }
  // Returns the indices of the nodes whose values can be stored.
  std::vector<size_t> storable_nodes() const;
  size_t num_arrays_of_node(size_t node) const { return size_t(linear_list_[node].dtype().count()); }
  std::string array_name(size_t node, size_t element) const;

  struct ListVariant {
    std::vector<size_t> watched_nodes = {};  // indices of the nodes whose values are stored
    // index of the node whose users read its right value from added input arrays; SIZE_MAX: none
    size_t replaced_node = SIZE_MAX;
    // access each of the kernel's own global arrays only at index 0, so that no such access is out of bounds
    bool stores_only_first_element = false;
  };
  std::vector<UOp> make_variant(const ListVariant& variant) const;

  // Returns a sort key for the point of a run at which `node` computes element `iteration` of its arrays: earlier
  // points compare as less.
  std::vector<int64_t> run_point_key(size_t node, int64_t iteration) const;

 private:
  struct ListLoop {
    // index of a RANGE or SPECIAL in the list; the loop of a SPECIAL is the rest of the list
    size_t list_index;
    int64_t num_iterations;  // in the variants of the list
    bool is_shortened = false;
  };
  class Builder;

  int64_t num_iterations_of_node(size_t node) const;
  void shorten_loops(const std::vector<size_t>& around);
  DType storage_dtype(DType element) const;

  std::span<const UOp> linear_list_;
  std::vector<ListLoop> loops_;
  std::vector<std::vector<size_t>> loops_of_nodes_;
  std::vector<int64_t> first_array_numbers_;             // for each node: the number of its first array
  bool is_short_ = true, stores_words_ = false;
};

// Returns true if `u` stores a vector, or loads one without an alternative value, at an INDEX of a buffer of scalars.
// If a wrong kernel becomes right when its vector accesses are split, the renderer may print one wrongly.
bool is_vector_access(UOp u);

// Returns true if the access may break one of two assumptions of C and LLVM IR: a vector is aligned to its size, and a
// vector of three elements takes as much memory as one of four.
bool is_misaligned_vector(UOp access);

// Returns the list with each vector access whose op is in `ops` split into accesses of single elements.
std::vector<UOp> scalarize_list(std::span<const UOp> list, OpSet ops);

}  // namespace tgc
