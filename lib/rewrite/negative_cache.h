// Negative cache: avoids trying rules again on a node to which they did not apply. A node never changes, so a rule that
// reads no context and declined a node once declines it always. A later rewrite with a larger rule set tries only the
// rules that were not tried on the node before. The same holds for all nodes below this node: a rewrite works from the
// sources up, so the rules have declined the nodes below first.
//
// Each node stores one small number that identifies a set of rules (NodeNotes in workspace.h); 0 is the empty set. The
// sets are numbered per process. There are few sets, because the set of a node is the union of the rule sets tried on
// it. Private to lib/rewrite.
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
  uint16_t then;                         // number of the node's set after all rules of `rest` have declined the node
  std::unique_ptr<const Matcher> owned;  // owns `rest`, unless `rest` is the matcher itself
};

// The RemainingRules of one matcher, indexed by set number. An entry is made on first use; reading it takes no lock.
class RemainingRulesTable {
 public:
  static constexpr size_t kSets = 256;  // maximum number of sets; once it is reached, new sets are not stored

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
