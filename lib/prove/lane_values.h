// The values of lanes of nodes, which are computed from those of their sources.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

template <class Value>
class LaneValues {
 public:
  // Returns the value of a lane. `for_sources(u, lane, need)` calls need(source, lane) for each value that
  // `make(u, lane)` reads; these are computed first, without recursion on the C++ stack.
  template <class ForSources, class Make>
  const Value& of(UOp root, int root_lane, const ForSources& for_sources, const Make& make) {
    if (auto it = known_.find(key(root, root_lane)); it != known_.end()) return it->second;
    std::vector<std::pair<UOp, int>> stack{{root, root_lane}};
    while (!stack.empty()) {
      const auto [u, lane] = stack.back();
      const size_t before = stack.size();
      if (!known_.contains(key(u, lane))) {
        for_sources(u, lane, [&](UOp s, int l) {
          if (!known_.contains(key(s, l))) stack.emplace_back(s, l);
        });
        if (stack.size() > before) continue;
        Value made = make(u, lane);
        known_.try_emplace(key(u, lane), std::move(made));
      }
      stack.pop_back();
    }
    return known_.at(key(root, root_lane));
  }

 private:
  static uint64_t key(UOp u, int lane) { return uint64_t(u.id()) << 12 | uint64_t(lane); }
  std::unordered_map<uint64_t, Value> known_;
};

// Calls need(source, lane) for the sources of an op on each lane by itself, the first source last.
template <class Need>
void for_lane_sources(UOp u, int lane, const Need& need) {
  for (size_t i = u.num_src(); i-- > 0;) need(u.src(i), u.src(i).dtype().count() > 1 ? lane : 0);
}

}  // namespace tgc
