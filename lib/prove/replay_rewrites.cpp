#include "lib/prove/replay_rewrites.h"

#include <unordered_map>

#include "lib/rewrite/apply_rewrites.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

VisitOrder visit_order(RewriteOrder order, bool is_substitution) {
  switch (order) {
    case RewriteOrder::SourcesFirst: return VisitOrder::SourcesFirst;
    case RewriteOrder::NodeFirst: return VisitOrder::NodeFirst;
    case RewriteOrder::NodeOnce: return VisitOrder::NodeOnce;
    case RewriteOrder::Once: return VisitOrder::Once;
    case RewriteOrder::Groups: return is_substitution ? VisitOrder::NodeFirst : VisitOrder::SourcesFirst;
    case RewriteOrder::GroupsOnce: return is_substitution ? VisitOrder::NodeOnce : VisitOrder::SourcesFirst;
  }
  return VisitOrder::SourcesFirst;
}

}  // namespace

UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order) {
  const bool has_groups = order == RewriteOrder::Groups || order == RewriteOrder::GroupsOnce;
  UOp graph = root;
  for (size_t i = 0; graph && i < rewrites.size();) {
    std::unordered_map<UOp, UOp> all;
    const std::string_view group = rewrites[i].group;
    for (; i < rewrites.size(); i++) {
      const ReplayedRewrite& r = rewrites[i];
      // a second replacement of a node is of another substitution
      if (has_groups && (r.group != group || (!group.empty() && all.contains(r.before)))) break;
      all[r.before] = r.after;
    }
    graph = apply_rewrites(graph, all, visit_order(order, !group.empty()));
  }
  return graph;
}

}  // namespace tgc
