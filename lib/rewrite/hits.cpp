#include "lib/rewrite/hits.h"

#include <atomic>
#include <map>
#include <mutex>

#include "lib/support/check.h"

namespace tgc {
namespace {

constexpr size_t kMaxRules = 8192;
std::atomic<bool> rules_hit[kMaxRules];

struct TriedRules {
  std::mutex lock;
  std::map<uint32_t, Rule> by_id;
};
TriedRules& tried_rules() {
  static TriedRules tried;
  return tried;
}

}  // namespace

void note_rules(const std::vector<const Rule*>& rules) {
  std::lock_guard guard(tried_rules().lock);
  for (const Rule* rule : rules) tried_rules().by_id.emplace(rule->id, *rule);
}

void note_hit(const Rule& rule) {
  TGC_CHECK(rule.id < kMaxRules, "more rules than the register of hits has room for");
  if (!rules_hit[rule.id].load(std::memory_order_relaxed)) rules_hit[rule.id].store(true, std::memory_order_relaxed);
}

bool was_hit(const Rule& rule) { return rule.id < kMaxRules && rules_hit[rule.id].load(std::memory_order_relaxed); }

std::vector<Rule> rules_tried() {
  std::lock_guard guard(tried_rules().lock);
  std::vector<Rule> out;
  for (auto& [id, rule] : tried_rules().by_id) out.push_back(rule);
  return out;
}

}  // namespace tgc
