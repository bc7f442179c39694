#include "lib/rewrite/stats.h"

#include "lib/rewrite/bucket.h"

namespace tgc {
namespace {

size_t hash(const void* bucket, uint32_t node_class, uint32_t last_rule) {
  uint64_t h = reinterpret_cast<uintptr_t>(bucket) ^ node_class * 0x9E3779B97F4A7C15u ^ last_rule * 0x165667B19E3779F9u;
  return h ^ h >> 29;
}

}  // namespace

RuleStats::RuleStats() : stops_(1024), start_ticks_(ticks()), start_ns_(now_ns()) {}

void RuleStats::add(const Rule& rule, uint64_t hits, uint64_t attempts) {
  of(rule).hits += hits;
  of(rule).attempts += attempts;
}

// Returns the entry of stops_ for this bucket, node class and number of the last rule; inserts a missing entry.
RuleStats::Stop& RuleStats::find(const Bucket* bucket, uint32_t node_class, uint32_t last_rule) {
  size_t mask = stops_.size() - 1, slot = hash(bucket, node_class, last_rule) & mask;
  for (; stops_[slot].bucket; slot = (slot + 1) & mask)
    if (Stop& s = stops_[slot]; s.bucket == bucket && s.last_rule == last_rule && s.node_class == node_class) return s;
  used_++;
  return stops_[slot] = {bucket, node_class, last_rule, 0};
}

void RuleStats::stop(const Bucket* bucket, uint32_t node_class, uint32_t last_rule) {
  find(bucket, node_class, last_rule).count++;
  if (used_ * 2 < stops_.size()) return;
  std::vector<Stop> old(stops_.size() * 2);
  std::swap(old, stops_);
  used_ = 0;
  for (const Stop& s : old)
    if (s.bucket) find(s.bucket, s.node_class, s.last_rule).count = s.count;
}

std::vector<RuleCounters> RuleStats::by_rule() {
  double scale = double(now_ns() - start_ns_) / double(std::max<uint64_t>(1, ticks() - start_ticks_));
  std::vector<RuleCounters> out(counters_.begin(), counters_.end());
  out.resize(num_rules());
  // adds `count` to the attempts of those rules of a bucket that have number `from` or higher and may match a node of
  // class `node_class`
  auto add = [&](const BucketPrograms& code, uint32_t node_class, uint32_t from, uint64_t count) {
    uint32_t next = from;
    for (const MatchProgram& p : code.programs) {
      if (p.number < next || (p.need_bits & ~node_class)) continue;
      next = p.number + 1;
      out[p.rule->id].attempts += count;
    }
  };
  std::sort(tried_.begin(), tried_.end());
  tried_.erase(std::unique(tried_.begin(), tried_.end()), tried_.end());
  for (const Bucket* bucket : tried_) {
    const BucketPrograms& code = bucket->code();
    for (uint32_t c = 0; c < code.num_classes && code.first_class + c < tries_.size(); c++)
      if (uint64_t count = tries_[code.first_class + c]) add(code, c, 0, count);
  }
  for (const Stop& s : stops_)
    // adding the unsigned -s.count subtracts
    if (s.bucket) add(s.bucket->code(), s.node_class, s.last_rule + 1, -s.count);
  for (RuleCounters& c : out)
    c.hit_ns = uint64_t(double(c.hit_ns) * scale), c.total_ns = uint64_t(double(c.total_ns) * scale);
  return out;
}

}  // namespace tgc
