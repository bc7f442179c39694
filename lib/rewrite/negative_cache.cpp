#include "lib/rewrite/negative_cache.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {
namespace {

using RuleIds = std::vector<uint32_t>;  // sorted in ascending order

// The numbered sets of rules: sets[n] is set number n, and `numbers` maps a set to its number.
struct Sets {
  std::mutex lock;  // protects this object and the making of entries of any RemainingRulesTable
  std::vector<RuleIds> sets{{}};
  std::map<RuleIds, uint16_t> numbers{{{}, 0}};

  uint16_t number_of(RuleIds ids) {
    auto [it, is_new] = numbers.try_emplace(ids, uint16_t(sets.size()));
    if (!is_new) return it->second;
    if (sets.size() == RemainingRulesTable::kSets) {
      numbers.erase(it);
      return 0;
    }
    sets.push_back(std::move(ids));
    return it->second;
  }
};

Sets& all_sets() {
  static auto* sets = new Sets;  // never destroyed, because destructors of static objects may still rewrite graphs
  return *sets;
}

}  // namespace

RemainingRulesTable::~RemainingRulesTable() {
  for (auto& made : made_) delete made.load();
}

const RemainingRules& RemainingRulesTable::make(const Matcher& matcher, uint16_t tried) const {
  Sets& all = all_sets();
  std::lock_guard guard(all.lock);
  if (const RemainingRules* made = made_[tried].load(std::memory_order_relaxed)) return *made;
  const RuleIds& known = all.sets[tried];
  RuleIds then = known;
  std::vector<const Rule*> rest;
  for (const Rule* rule : matcher.rules()) {
    if (std::ranges::binary_search(known, rule->id)) continue;
    rest.push_back(rule);
    if (!rule->uses_ctx) then.push_back(rule->id);
  }
  std::ranges::sort(then);
  then.erase(std::unique(then.begin(), then.end()), then.end());
  auto* out = new RemainingRules{&matcher, 0, nullptr};
  if (rest.size() < matcher.rules().size()) {
    out->owned = std::make_unique<const Matcher>(rest);
    out->rest = out->owned.get();
  }
  out->then = all.number_of(std::move(then));
  made_[tried].store(out, std::memory_order_release);
  return *out;
}

}  // namespace tgc
