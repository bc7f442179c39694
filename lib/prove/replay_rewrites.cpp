#include "lib/prove/replay_rewrites.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "lib/support/deep_stack.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

class Replay {
 public:
  using Map = std::unordered_map<UOp, UOp>;
  Replay(const Map& rewrites, RewriteOrder order) : rewrites_(rewrites), order_(order) {}

  UOp run(UOp u, int depth = 0) {
    constexpr int kMostDepth = 20000;
    if (depth % kStackCheck == 0 && stack_is_short()) return with_stack([&] { return run(u, depth); });
    if (auto known = results_.find(u); known != results_.end()) return known->second;
    if (depth > kMostDepth) throw Failure("the rewrites nest too deep");
    UOp out = u;
    if (order_ == RewriteOrder::NodeFirst) out = followed(out);
    if (order_ == RewriteOrder::NodeOnce)
      if (auto next = rewrites_.find(u); next != rewrites_.end()) return results_[u] = next->second;
    std::vector<UOp> src;
    for (UOp s : out.src()) src.push_back(run(s, depth + 1));
    if (!std::ranges::equal(src, out.src())) out = out.with_src(src);
    if (order_ == RewriteOrder::NodeOnce) return results_[u] = out;
    auto next = rewrites_.find(out);
    if (next != rewrites_.end() && !(next->second == u))
      out = order_ == RewriteOrder::Once ? next->second : run(next->second, depth + 1);
    return results_[u] = out;
  }

 private:
  UOp followed(UOp u) const {
    for (size_t steps = 0; steps <= rewrites_.size(); steps++) {
      auto next = rewrites_.find(u);
      if (next == rewrites_.end()) return u;
      u = next->second;
    }
    throw Failure("the rewrites form a cycle");
  }
  const Map& rewrites_;
  const RewriteOrder order_;
  Map results_;
};

}  // namespace

UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order) {
  const bool has_groups = order == RewriteOrder::Groups || order == RewriteOrder::GroupsOnce;
  auto out = catch_failures([&] {
    UOp graph = root;
    for (size_t i = 0; i < rewrites.size();) {
      Replay::Map all;
      const std::string_view group = rewrites[i].group;
      for (; i < rewrites.size(); i++) {
        const ReplayedRewrite& r = rewrites[i];
        // a second replacement of a node is of another substitution
        if (has_groups && (r.group != group || (!group.empty() && all.contains(r.before)))) break;
        all[r.before] = r.after;
      }
      RewriteOrder own = order;
      if (has_groups && group.empty()) own = RewriteOrder::SourcesFirst;
      else if (has_groups) own = order == RewriteOrder::Groups ? RewriteOrder::NodeFirst : RewriteOrder::NodeOnce;
      graph = Replay(all, own).run(graph);
    }
    return graph;
  });
  return out ? *out : UOp();
}

}  // namespace tgc
