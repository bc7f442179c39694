#include <algorithm>

#include "lib/rewrite/rewrite.h"

namespace tgc {

SubstituteContext::SubstituteContext(Graph&, const Substitution& replacements) {
  for (auto& pair : replacements) {
    if (pair.first == pair.second) continue;
    pairs_.push_back(pair);
    ops_.add(pair.first.op());
    first_id_ = std::min(first_id_, pair.first.id());
  }
  constexpr size_t kFew = 8;  // so many are scanned faster than looked up
  if (pairs_.size() > kFew)
    for (auto [from, to] : pairs_) many_[from.node()] = to;
}

UOp SubstituteContext::find(UOp u) const {
  if (!ops_.contains(u.op())) return {};
  if (!many_.empty()) {
    auto it = many_.find(u.node());
    return it == many_.end() ? UOp() : it->second;
  }
  for (size_t i = pairs_.size(); i-- > 0;)  // of a node given twice the last counts
    if (pairs_[i].first == u) return pairs_[i].second;
  return {};
}

const RuleSet& substitute_rules() {
  using namespace pat;
  static const RuleSet set("substitute", {
      rule("substitute", node(OpSet::all()).as(x), with_ctx<const SubstituteContext>(x, [](const SubstituteContext& ctx, UOp x) { return ctx.find(x); })),
  });
  return set;
}

}  // namespace tgc
