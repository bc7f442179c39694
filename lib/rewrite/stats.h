// Counts tries, hits and time per rule.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {

// Counters of one rule. Times are in nanoseconds.
struct RuleCounters {
  uint64_t num_hits = 0, num_attempts = 0;
  uint64_t hit_ns = 0, total_ns = 0;
  // (name, hits) of each named folding (rules.h) that applied
  std::vector<std::pair<std::string_view, uint64_t>> branch_hit_counts = {};

  void count_branch(std::string_view name) {
    auto it = std::ranges::find(branch_hit_counts, name, &std::pair<std::string_view, uint64_t>::first);
    (it == branch_hit_counts.end() ? branch_hit_counts.emplace_back(name, 0) : *it).second++;
  }
};

// Counts the attempts of all rules cheaply: each match of a node records only the bucket, the node's class and the
// number of the rule that ended the match, if any.
class RuleStats {
 public:
  RuleStats();
  std::vector<RuleCounters> counters_by_rule();  // returns the counters of all rules, indexed by Rule::rule_id

  // Adds hits and attempts that were counted by code that applies `rule` without a Matcher.
  void add_counts(const Rule& rule, uint64_t hits, uint64_t attempts);

  using RuleBucket = Matcher::RuleBucket;

 private:
  friend class CountedMatch;
  // `num_attempts` counts only the attempts that are passed to add_counts(); times are in ticks
  struct Counters : RuleCounters {
    uint32_t num_calls = 0;
  };
  // number of tries of a bucket that ended at rule number `last_rule` of the bucket, which applied or threw
  struct BucketStop {
    const RuleBucket* bucket;
    uint32_t op_class, last_rule;  // op_class: see BucketPrograms::op_class_of
    uint64_t num_tries;
  };
  BucketStop& find_bucket_stop(const RuleBucket* bucket, uint32_t op_class, uint32_t last_rule);
  void count_bucket_stop(const RuleBucket* bucket, uint32_t op_class, uint32_t last_rule);
  // Counts one try to match a node with a bucket's rules. `at` is first_op_class + op_class_of(the node) of its
  // BucketPrograms.
  void count_bucket_try(const RuleBucket& bucket, size_t at) {
    if (at >= tries_by_class_.size()) tries_by_class_.resize(2 * at + 64);
    if (tries_by_class_[at]++ == 0) tried_buckets_.push_back(&bucket);
  }
  Counters& counters_of(const Rule& rule) {
    if (rule.rule_id >= rule_counters_.size()) rule_counters_.resize(num_rules());
    return rule_counters_[rule.rule_id];
  }

  std::vector<Counters> rule_counters_;
  std::vector<uint64_t> tries_by_class_;
  std::vector<const RuleBucket*> tried_buckets_;
  std::vector<BucketStop> bucket_stops_;      // a hash table with open addressing, whose size is a power of two
  size_t num_used_stops_ = 0;
  uint32_t num_matches_ = 0;
  uint64_t start_ticks_, start_ns_;
};

inline uint64_t now_ns() {
  return uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

inline uint64_t now_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

}  // namespace tgc
