// A linear list that tells what its nodes compute: each value is stored besides, for each iteration of the loops around
// it, in an array of its own. So addresses and conditions, which are never in memory, can be compared, too.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

class ObservedList {
 public:
  static constexpr int64_t kMostIterations = 4096;  // of the loops around a node: longer ones are made shorter

  // The list outlives this.
  explicit ObservedList(std::span<const UOp> list);

  // Whether its loops are short, or could be made so: a bound may be a variable.
  bool is_short() const { return is_short_; }
  // The places in the list of all that has a value: no pointers, no memory, no parameters.
  std::vector<size_t> values() const;
  // The arrays of a node, one for each element of a vector, each with one element for each iteration.
  size_t arrays_of(size_t node) const { return size_t(list_[node].dtype().count()); }
  std::string array_name(size_t node, size_t element) const;

  struct Variant {
    std::vector<size_t> watched = {};  // what they compute is stored in their arrays
    size_t replaced = SIZE_MAX;        // is computed, but others take its value from its arrays
    bool calm = false;                 // of the kernel's own arrays the first place alone is read and written
  };
  std::vector<UOp> made(const Variant& variant) const;

  // When that node computes that element of its arrays: the lesser of two moments is the earlier.
  std::vector<int64_t> moment(size_t node, int64_t iteration) const;

 private:
  struct Loop {
    size_t at;     // in the list: a RANGE or, for all that follows, a SPECIAL
    int64_t size;  // its iterations
    bool is_cut = false;
  };
  class Maker;

  int64_t iterations(size_t node) const;
  void shorten(const std::vector<size_t>& around);

  std::span<const UOp> list_;
  std::vector<Loop> loops_;
  std::vector<std::vector<size_t>> around_;  // the loops around each node, from outside in, of a loop itself, too
  std::vector<int64_t> numbers_;             // of each node's first array
  bool is_short_ = true;
};

}  // namespace tgc
