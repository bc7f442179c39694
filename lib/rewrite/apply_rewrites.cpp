#include "lib/rewrite/apply_rewrites.h"

#include <algorithm>

#include "lib/support/deep_stack.h"
#include "lib/support/result.h"

namespace tgc {
namespace {

class RewriteReplay {
 public:
  RewriteReplay(const std::unordered_map<UOp, UOp>& rewrites, VisitOrder order, std::unordered_set<UOp>* applied,
                const std::function<UOp(UOp)>& retyped)
      : rewrites_(rewrites), order_(order), applied_nodes_(applied), retype_node_(retyped) {}

  UOp run(UOp u, int depth = 0) {
    constexpr int kMaxDepth = 20000;
    if (depth % kStackCheckLevels == 0 && is_stack_short()) return call_with_stack([&] { return run(u, depth); });
    if (auto known = results_.find(u); known != results_.end()) return known->second;
    if (depth > kMaxDepth) throw Failure("the recorded rewrites nest too deep");
    UOp out = u;
    if (order_ == VisitOrder::NodeFirst) out = follow_rewrites(out);
    if (order_ == VisitOrder::NodeOnce)
      if (auto next = rewrites_.find(u); next != rewrites_.end()) {
        if (applied_nodes_) applied_nodes_->insert(u);
        return results_[u] = next->second;
      }
    std::vector<UOp> src;
    for (UOp s : out.src()) src.push_back(run(s, depth + 1));
    if (!std::ranges::equal(src, out.src())) out = rebuild_node(out, src);
    if (order_ == VisitOrder::NodeOnce) return results_[u] = out;
    auto next = rewrites_.find(out);
    if (next != rewrites_.end() && applied_nodes_) applied_nodes_->insert(out);
    if (next != rewrites_.end() && !(next->second == u))
      out = order_ == VisitOrder::Once ? next->second : run(next->second, depth + 1);
    return results_[u] = out;
  }

 private:
  UOp rebuild_node(UOp u, const std::vector<UOp>& src) const {
    const UOp out = u.with_src(src);
    auto has_dtype = [](UOp a, UOp b) { return a.dtype() == b.dtype(); };
    if (!retype_node_ || rewrites_.contains(out) || std::ranges::equal(src, u.src(), has_dtype)) return out;
    return retype_node_(out);
  }
  UOp follow_rewrites(UOp u) const {
    for (size_t steps = 0; steps <= rewrites_.size(); steps++) {
      auto next = rewrites_.find(u);
      if (next == rewrites_.end()) return u;
      u = next->second;
    }
    throw Failure("the recorded rewrites form a cycle");
  }
  const std::unordered_map<UOp, UOp>& rewrites_;
  const VisitOrder order_;
  std::unordered_set<UOp>* const applied_nodes_;
  const std::function<UOp(UOp)>& retype_node_;
  std::unordered_map<UOp, UOp> results_;
};

}  // namespace

UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, VisitOrder order,
                   std::unordered_set<UOp>* applied, const std::function<UOp(UOp)>& retyped) {
  auto out = catch_failures([&] { return RewriteReplay(rewrites, order, applied, retyped).run(root); });
  return out ? *out : UOp();
}

}  // namespace tgc
