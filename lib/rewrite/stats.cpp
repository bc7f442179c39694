#include "lib/rewrite/stats.h"

#include "lib/rewrite/bucket.h"

namespace tgc {
namespace {

size_t hash(const void* bucket, uint32_t have, uint32_t reached) {
  uint64_t h = reinterpret_cast<uintptr_t>(bucket) ^ have * 0x9E3779B97F4A7C15u ^ reached * 0x165667B19E3779F9u;
  return h ^ h >> 29;
}

}  // namespace

RuleStats::RuleStats() : stops_(1024), start_ticks_(ticks()), start_ns_(now_ns()) {}

void RuleStats::add(const Rule& rule, uint64_t hits, uint64_t attempts) {
  of(rule).hits += hits;
  of(rule).attempts += attempts;
}

// Returns the entry of stops_ for this bucket, node class `have` and rule number `reached`; inserts a missing entry.
RuleStats::Stop& RuleStats::find(const Bucket* bucket, uint32_t have, uint32_t reached) {
  size_t mask = stops_.size() - 1, slot = hash(bucket, have, reached) & mask;
  for (; stops_[slot].bucket; slot = (slot + 1) & mask)
    if (Stop& s = stops_[slot]; s.bucket == bucket && s.reached == reached && s.have == have) return s;
  used_++;
  return stops_[slot] = {bucket, have, reached, 0};
}

void RuleStats::stop(const Bucket* bucket, uint32_t have, uint32_t reached) {
  find(bucket, have, reached).count++;
  if (used_ * 2 < stops_.size()) return;
  std::vector<Stop> old(stops_.size() * 2);
  std::swap(old, stops_);
  used_ = 0;
  for (const Stop& s : old)
    if (s.bucket) find(s.bucket, s.have, s.reached).count = s.count;
}

std::vector<RuleCounters> RuleStats::by_rule() {
  double scale = double(now_ns() - start_ns_) / double(std::max<uint64_t>(1, ticks() - start_ticks_));
  std::vector<RuleCounters> out(counters_.begin(), counters_.end());
  out.resize(num_rules());
  // adds `count` to the attempts of those rules of a bucket that have number `from` or higher and may match a node of
  // class `have`
  auto add = [&](const BucketCode& code, uint32_t have, uint32_t from, uint64_t count) {
    uint32_t next = from;
    for (const MatchProgram& p : code.programs) {
      if (p.number < next || (p.need_bits & ~have)) continue;
      next = p.number + 1;
      out[p.rule->id].attempts += count;
    }
  };
  std::sort(tried_.begin(), tried_.end());
  tried_.erase(std::unique(tried_.begin(), tried_.end()), tried_.end());
  for (const Bucket* bucket : tried_) {
    const BucketCode& code = bucket->code();
    for (uint32_t have = 0; have < code.num_classes && code.first_class + have < tries_.size(); have++)
      if (uint64_t count = tries_[code.first_class + have]) add(code, have, 0, count);
  }
  for (const Stop& s : stops_)
    if (s.bucket) add(s.bucket->code(), s.have, s.reached + 1, -s.count);  // adding the unsigned -s.count subtracts
  for (RuleCounters& c : out)
    c.hit_ns = uint64_t(double(c.hit_ns) * scale), c.total_ns = uint64_t(double(c.total_ns) * scale);
  return out;
}

}  // namespace tgc
