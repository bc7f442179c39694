#include "lib/rewrite/stats.h"

#include "lib/rewrite/bucket.h"

namespace tgc {
namespace {

size_t bucket_stop_hash(const void* bucket, uint32_t op_class, uint32_t last_rule) {
  uint64_t h = reinterpret_cast<uintptr_t>(bucket) ^ op_class * 0x9E3779B97F4A7C15u ^ last_rule * 0x165667B19E3779F9u;
  return h ^ h >> 29;
}

}  // namespace

RuleStats::RuleStats() : bucket_stops_(1024), start_ticks_(now_ticks()), start_ns_(now_ns()) {}

void RuleStats::add_counts(const Rule& rule, uint64_t hits, uint64_t attempts) {
  counters_of(rule).num_hits += hits;
  counters_of(rule).num_attempts += attempts;
}

RuleStats::BucketStop& RuleStats::find_bucket_stop(const RuleBucket* bucket, uint32_t op_class, uint32_t last_rule) {
  size_t mask = bucket_stops_.size() - 1, slot = bucket_stop_hash(bucket, op_class, last_rule) & mask;
  for (; bucket_stops_[slot].bucket; slot = (slot + 1) & mask)
    if (BucketStop& s = bucket_stops_[slot];
        s.bucket == bucket && s.last_rule == last_rule && s.op_class == op_class)
      return s;
  num_used_stops_++;
  return bucket_stops_[slot] = {bucket, op_class, last_rule, 0};
}

void RuleStats::count_bucket_stop(const RuleBucket* bucket, uint32_t op_class, uint32_t last_rule) {
  find_bucket_stop(bucket, op_class, last_rule).num_tries++;
  if (num_used_stops_ * 2 < bucket_stops_.size()) return;
  std::vector<BucketStop> old(bucket_stops_.size() * 2);
  std::swap(old, bucket_stops_);
  num_used_stops_ = 0;
  for (const BucketStop& s : old)
    if (s.bucket) find_bucket_stop(s.bucket, s.op_class, s.last_rule).num_tries = s.num_tries;
}

std::vector<RuleCounters> RuleStats::counters_by_rule() {
  double scale = double(now_ns() - start_ns_) / double(std::max<uint64_t>(1, now_ticks() - start_ticks_));
  std::vector<RuleCounters> out(rule_counters_.begin(), rule_counters_.end());
  out.resize(num_rules());
  // adds `count` to the attempts of those rules of a bucket that have number `from` or higher and may match a node of
  // class `op_class`
  auto add = [&](const BucketPrograms& code, uint32_t op_class, uint32_t from, uint64_t count) {
    uint32_t next = from;
    for (const MatchProgram& p : code.programs) {
      if (p.rule_index < next || (p.needed_op_bits & ~op_class)) continue;
      next = p.rule_index + 1;
      out[p.rule->rule_id].num_attempts += count;
    }
  };
  std::sort(tried_buckets_.begin(), tried_buckets_.end());
  tried_buckets_.erase(std::unique(tried_buckets_.begin(), tried_buckets_.end()), tried_buckets_.end());
  for (const RuleBucket* bucket : tried_buckets_) {
    const BucketPrograms& code = bucket->programs();
    for (uint32_t c = 0; c < code.num_op_classes && code.first_op_class + c < tries_by_class_.size(); c++)
      if (uint64_t count = tries_by_class_[code.first_op_class + c]) add(code, c, 0, count);
  }
  for (const BucketStop& s : bucket_stops_)
    // the negated unsigned number wraps around, so adding it subtracts
    if (s.bucket) add(s.bucket->programs(), s.op_class, s.last_rule + 1, -s.num_tries);
  for (RuleCounters& c : out)
    c.hit_ns = uint64_t(double(c.hit_ns) * scale), c.total_ns = uint64_t(double(c.total_ns) * scale);
  return out;
}

}  // namespace tgc
