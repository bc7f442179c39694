// Negative cache: avoids trying rules again on a node to which they did not apply. A node never changes, so a rule that
// reads no context and declined once always declines; a later rewrite with a larger rule set only tries the rules that
// are new to the node. The same holds for all nodes below it, because a rewrite works upwards: the rules had declined
// there before.
//
// Each node stores one small number that identifies a set of rules (NodeNotes in workspace.h); 0 is the empty set. Sets
// are numbered per process. There are few, because a node's set is the union of the rule sets tried on it. Private to
// lib/rewrite.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace tgc {

class Matcher;

// How one matcher handles nodes with one particular set of inapplicable rules.
struct RemainingRules {
  const Matcher* rest;                   // matches the rules that may still apply
  uint16_t then;                         // number of the node's set after all of `rest` declined
  std::unique_ptr<const Matcher> owned;  // owns `rest`, unless `rest` is the matcher itself
};

// The RemainingRules of one matcher, indexed by set number. Entries are made on first use and then read without a lock.
class RemainingRulesTable {
 public:
  static constexpr size_t kSets = 256;  // maximum number of sets; when it is reached, no new set is stored

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
