// Rules that were tried on a node in vain are not tried again. A node never changes, so a rule that looks at no context
// and made nothing of it once will make nothing of it ever; a later rewrite with a larger rule set need try only the
// rules that are new to the node. The same holds for everything below the node: a rewrite works its way up, so before
// the rules declined here they had declined there.
//
// A node keeps this as one small number, that of a set of rules (see NodeNotes of workspace.h; 0 is the empty set:
// nothing is known). Sets are numbered for the whole process. There are few, because they grow by whole rule sets: what
// is known of a node is the union of the sets that were tried on it. For lib/rewrite alone.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace tgc {

class Matcher;

// How a matcher deals with the nodes of which one set of rules is known not to apply.
struct RemainingRules {
  const Matcher* rest;                   // holds the rules that may still apply
  uint16_t then;                         // the number of what is known when none of them did
  std::unique_ptr<const Matcher> owned;  // `rest`, where it is not the matcher itself
};

// The RemainingRules of one matcher, by the number of what is known. Each is made when first asked for, then found without
// a lock.
class RemainingRulesTable {
 public:
  static constexpr size_t kSets = 256;  // numbers for sets; when they run out, nothing new is remembered

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
