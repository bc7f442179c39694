// Repeats recorded rewrites on a graph, in one of the orders in which tinygrad visits nodes.
#pragma once
#include <span>
#include <string_view>

#include "lib/uop/uop.h"

namespace tgc {

enum class RewriteOrder : uint8_t {
  SourcesFirst,  // graph_rewrite
  NodeFirst,     // graph_rewrite with bottom_up: a node before its sources
  NodeOnce,      // a substitution: the same, but what replaces a node is not visited
  Once,          // a walk: sources first, and what replaces a node is not visited
  Groups,        // several substitutions and graph_rewrites, one after the other
  GroupsOnce,    // the same, but what a substitution puts in place of a node is not visited
};
inline constexpr RewriteOrder kRewriteOrders[] = {RewriteOrder::SourcesFirst, RewriteOrder::NodeFirst,
                                                  RewriteOrder::Once,         RewriteOrder::NodeOnce,
                                                  RewriteOrder::Groups,       RewriteOrder::GroupsOnce};

struct ReplayedRewrite {
  UOp before, after;
  // for a substitution, the place of its call; adjacent rewrites of one group are applied together
  std::string_view group = {};
};

// Replaces `before` by `after` for each of the rewrites, in the graph under `root`. Returns an empty UOp if the
// rewrites form a cycle.
UOp replay_rewrites(UOp root, std::span<const ReplayedRewrite> rewrites, RewriteOrder order);

}  // namespace tgc
