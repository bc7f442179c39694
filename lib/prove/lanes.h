// LaneForms compares vectors lane by lane, to prove rewrites that only move lanes, axes and stores. Each lane, at each
// position on the expanded axes, has a form: the number of an expression. Lanes with equal forms are equal, up to the
// order of the terms of REDUCEs; lanes with different forms may be equal, too.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

class LaneForms {
 public:
  // If `keeps_order` is set, REDUCEs of floats with their terms or loops in another order are different.
  explicit LaneForms(bool keeps_order = false) : keeps_order_(keeps_order) {}

  // Returns true if two values, or two nodes that store, are the same; false also if that is unknown.
  bool are_same(UOp before, UOp after);

  using Form = uint32_t;
  struct StoreEffect {
    Form store;
    std::set<Form> loops;
    friend auto operator<=>(const StoreEffect&, const StoreEffect&) = default;
  };
  using Position = std::vector<std::pair<int64_t, int64_t>>;  // (axis, position), sorted by axis

  Form form_of_value(UOp u, int lane, const Position& at);
  // Appends the stores of `u` at the position `at` on the expanded axes to `out`. Returns false if they cannot be
  // divided into lanes and positions.
  bool collect_effects(UOp u, const Position& at, std::vector<StoreEffect>& out);
  // Thrown if a REDUCE has too many positions of expanded axes.
  struct TooManyPositions {};
  // Returns the forms of the terms that a lane of a REDUCE adds, at the position `at` on the expanded axes.
  std::vector<Form> forms_of_terms(UOp reduce, int lane, const Position& at);
  Form form_of_text(std::string text);

 private:
  using Axes = std::map<int64_t, int64_t>;
  const Axes& axes_of_node(UOp u);
  Position restrict_position(UOp u, const Position& at);
  Form make_form(UOp u, int lane, const Position& at);
  int num_lanes_of_node(UOp u) const { return u.dtype().is_ptr() ? u.dtype().vcount() : u.dtype().count(); }

  std::map<uint32_t, Axes> known_axes_;
  std::map<std::string, Form> form_numbers_;
  std::map<std::pair<uint64_t, Position>, Form> known_forms_;
  const bool keeps_order_;
  int nesting_depth_ = 0;
};

// Computes and caches a value for each lane of nodes, from the values of the sources' lanes.
template <class Value>
class LaneValues {
 public:
  // Returns the value of a lane. for_sources(u, lane, need) must call need(source, lane) for each value that
  // make(u, lane) reads. These values are computed first, without recursion on the C++ stack.
  template <class ForSources, class Make>
  const Value& lane_value(UOp root, int root_lane, const ForSources& for_sources, const Make& make) {
    if (auto it = known_values_.find(lane_key(root, root_lane)); it != known_values_.end()) return it->second;
    std::vector<std::pair<UOp, int>> stack{{root, root_lane}};
    while (!stack.empty()) {
      const auto [u, lane] = stack.back();
      const size_t before = stack.size();
      if (!known_values_.contains(lane_key(u, lane))) {
        for_sources(u, lane, [&](UOp s, int l) {
          if (!known_values_.contains(lane_key(s, l))) stack.emplace_back(s, l);
        });
        if (stack.size() > before) continue;
        Value made = make(u, lane);
        known_values_.try_emplace(lane_key(u, lane), std::move(made));
      }
      stack.pop_back();
    }
    return known_values_.at(lane_key(root, root_lane));
  }

 private:
  static uint64_t lane_key(UOp u, int lane) { return uint64_t(u.id()) << 12 | uint64_t(lane); }
  std::unordered_map<uint64_t, Value> known_values_;
};

// Calls need(source, lane of the source) for each source of an elementwise op, the last source first. A scalar source
// has lane 0.
template <class Need>
void for_each_lane_source(UOp u, int lane, const Need& need) {
  for (size_t i = u.num_src(); i-- > 0;) need(u.src(i), u.src(i).dtype().count() > 1 ? lane : 0);
}

}  // namespace tgc
