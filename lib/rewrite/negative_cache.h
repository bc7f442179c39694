// Negative cache: stores with each node which rules declined the node, so that later rewrites do not try these rules on
// it again. A rule that reads no context and declined a node once always declines it, because nodes never change. The
// rules have also declined all nodes below the node, because a rewrite handles sources first.
//
// A node stores a number that identifies a set of rules (NodeNotes in workspace.h); 0 is the empty set. The sets are
// numbered per process. There are few sets, because a node's set is the union of the rule sets that were tried on the
// node. Private to lib/rewrite.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace tgc {

class Matcher;

// The rules of one matcher that are left to try on nodes that already declined one particular set of rules.
struct RemainingRules {
  const Matcher* rest;                   // matches the rules that may still apply
  uint16_t then;                         // number of the node's new set, once all rules of `rest` declined it too
  std::unique_ptr<const Matcher> owned;  // owns `rest`, unless `rest` is the matcher itself
};

// The RemainingRules of one matcher, indexed by the number of the node's set. Entries are made on first use.
class RemainingRulesTable {
 public:
  static constexpr size_t kSets = 256;  // maximum number of sets; further sets get no number and are not cached

  RemainingRulesTable() = default;
  ~RemainingRulesTable();
  const RemainingRules& get(const Matcher& matcher, uint16_t tried) const {
    const RemainingRules* made = made_[tried].load(std::memory_order_acquire);
    return made ? *made : make(matcher, tried);
  }

 private:
  const RemainingRules& make(const Matcher& matcher, uint16_t tried) const;
  mutable std::array<std::atomic<const RemainingRules*>, kSets> made_ = {};
};

}  // namespace tgc
