// What rules cost: counts of tries by bucket, turned into counts by rule at the end.
#include <algorithm>

#include "lib/rewrite/bucket.h"
#include "lib/rewrite/ticks.h"

namespace tgc {
namespace {

size_t hash(const void* bucket, OpSet have, uint32_t reached) {
  uint64_t h = reinterpret_cast<uintptr_t>(bucket) ^ have.word(0) * 0x9E3779B97F4A7C15 ^ have.word(1) * 0xC2B2AE3D27D4EB4F ^ reached * 0x165667B19E3779F9;
  return h ^ h >> 29;
}

}  // namespace

Matcher::Stats::Stats() : table_(1024), start_ticks_(ticks()), start_ns_(now_ns()) {}

RuleCounters& Matcher::Stats::of(const Rule& rule) {
  if (rule.id >= counters_.size()) counters_.resize(num_rules());
  return counters_[rule.id];
}

// The entry of that key, made if there is none.
Matcher::Stats::Tries& Matcher::Stats::find(const Bucket* bucket, OpSet have, uint32_t reached) {
  size_t mask = table_.size() - 1, slot = hash(bucket, have, reached) & mask;
  for (; table_[slot].bucket; slot = (slot + 1) & mask)
    if (Tries& t = table_[slot]; t.bucket == bucket && t.reached == reached && t.have == have) return t;
  used_++;
  return table_[slot] = {bucket, have, reached, 0};
}

void Matcher::Stats::note(const Bucket* bucket, OpSet have, uint32_t reached) {
  find(bucket, have, reached).count++;
  if (used_ * 2 < table_.size()) return;
  std::vector<Tries> old(table_.size() * 2);
  std::swap(old, table_);
  used_ = 0;
  for (const Tries& t : old)
    if (t.bucket) find(t.bucket, t.have, t.reached).count = t.count;
}

std::vector<RuleCounters> Matcher::Stats::by_rule() {
  double scale = double(now_ns() - start_ns_) / double(std::max<uint64_t>(1, ticks() - start_ticks_));
  for (const Tries& t : table_) {
    if (!t.bucket) continue;
    uint32_t next = 0;
    for (const Program& p : t.bucket->code().programs) {
      if (p.number < next) continue;  // another alternative of the same rule
      if (p.number > t.reached) break;
      next = p.number + 1;
      if (t.have.contains_all(p.need)) of(*p.rule).attempts += t.count;
    }
  }
  std::vector<RuleCounters> out = counters_;
  for (RuleCounters& c : counters_) c.attempts = 0;
  for (RuleCounters& c : out) c.hit_ns = uint64_t(double(c.hit_ns) * scale), c.total_ns = uint64_t(double(c.total_ns) * scale);
  return out;
}

}  // namespace tgc
