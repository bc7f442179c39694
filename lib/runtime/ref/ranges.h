// The ranges of a kernel graph, and the ranges that each node depends on. Internal to ref/.
#pragma once
#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::ref {

class RangeSet {
 public:
  explicit RangeSet(size_t ranges = 0) : bit_words_((ranges + 63) / 64) {}
  void add(size_t i) { bit_words_[i / 64] |= uint64_t(1) << (i % 64); }
  void remove(size_t i) { bit_words_[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  bool contains(size_t i) const { return bit_words_[i / 64] >> (i % 64) & 1; }
  void add(const RangeSet& s) {
    for (size_t i = 0; i < bit_words_.size(); i++) bit_words_[i] |= s.bit_words_[i];
  }
  void remove(const RangeSet& s) {
    for (size_t i = 0; i < bit_words_.size(); i++) bit_words_[i] &= ~s.bit_words_[i];
  }
  void keep_common_ranges(const RangeSet& s) {
    for (size_t i = 0; i < bit_words_.size(); i++) bit_words_[i] &= s.bit_words_[i];
  }
  bool intersects(const RangeSet& s) const {
    for (size_t i = 0; i < bit_words_.size(); i++)
      if (bit_words_[i] & s.bit_words_[i]) return true;
    return false;
  }
  bool is_within(const RangeSet& s) const {
    for (size_t i = 0; i < bit_words_.size(); i++)
      if (bit_words_[i] & ~s.bit_words_[i]) return false;
    return true;
  }
  bool empty() const {
    return std::all_of(bit_words_.begin(), bit_words_.end(), [](uint64_t w) { return w == 0; });
  }

 private:
  std::vector<uint64_t> bit_words_;
};

AxisType axis_type(UOp range);
int64_t axis_id(UOp range);

class KernelRanges {
 public:
  // `nodes`: all nodes of the kernel, sources first.
  KernelRanges(Graph& graph, std::span<const UOp> nodes);

  const std::vector<UOp>& all_ranges() const { return all_ranges_; }
  // Returns the ranges that node u depends on by a path on which no node, u included, ends them.
  const RangeSet& ranges_around(UOp u) const { return *ranges_around_.find(u); }
  bool is_inside(UOp u, UOp range) const { return ranges_around(u).contains(range_index(range)); }
  size_t range_index(UOp range) const {
    return size_t(std::find(all_ranges_.begin(), all_ranges_.end(), range) - all_ranges_.begin());
  }
  RangeSet empty_set() const { return RangeSet(all_ranges_.size()); }
  RangeSet set_of(std::span<const UOp> ranges) const;

  // Returns the ranges that a node ends, outermost first.
  std::vector<UOp> ranges_ended_by(UOp u) const;
  // Returns the expanded ranges (UPCAST, UNROLL) of the axes that the arg of a CONTRACT or UNROLL lists.
  std::vector<UOp> expanded_ranges_of(const Arg& axes) const;

  // Returns the nodes that `roots` need and that depend on one of `ranges`, sources first. Excludes nodes that are
  // needed only through another node that ends one of the ranges: before workgroups exist, several nodes may end the
  // same thread range, which then becomes several loops, one after the other.
  std::vector<UOp> body_nodes(UOpSpan roots, const RangeSet& ranges) const;
  bool is_in_body(const std::vector<UOp>& body, UOp u) const;

 private:
  bool precedes_node(UOp a, UOp b) const { return *node_positions_.find(a) < *node_positions_.find(b); }
  std::unordered_map<UOp, RangeSet> open_ranges_by_node(UOpSpan roots, const RangeSet& ranges) const;

  std::vector<UOp> all_ranges_;
  UOpMap<uint32_t> node_positions_;
  UOpMap<RangeSet> ranges_around_;
  UOpMap<RangeSet> ended_ranges_;
  RangeSet ranges_ended_twice_;
};

}  // namespace tgc::ref
