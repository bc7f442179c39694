// What is known of a node after rules were tried on it in vain. A node never changes, so a rule that looks at no context never applies to it
// later, and a rewrite with other rules tries only those that are new. Nor does it apply to anything below: what a rewrite leaves as it is has
// been rewritten below before. Kept in the node as the number of a set of rules (Node::tried; 0: nothing is known). For lib/rewrite alone.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace tgc {

class Matcher;

// Of a matcher, for nodes of which some rules are known not to apply.
struct AfterTried {
  const Matcher* rest;                   // the rules that may apply
  uint16_t then;                         // what is known when none of them did
  std::unique_ptr<const Matcher> owned;  // where the rest is not the matcher itself
};

// A matcher's AfterTried, by what is known; made when first asked for.
class AfterTriedTable {
 public:
  static constexpr size_t kSets = 256;  // beyond so many sets of rules nothing is remembered

  AfterTriedTable() = default;
  ~AfterTriedTable();
  const AfterTried& get(const Matcher& matcher, uint16_t tried) const {
    const AfterTried* made = made_[tried].load(std::memory_order_acquire);
    return made ? *made : make(matcher, tried);
  }

 private:
  const AfterTried& make(const Matcher& matcher, uint16_t tried) const;
  mutable std::array<std::atomic<const AfterTried*>, kSets> made_ = {};
};

}  // namespace tgc
