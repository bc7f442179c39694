// Counts tries, hits and time per rule, for `tgc stats`.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {

// Counters of one rule. Times are in nanoseconds.
struct RuleCounters {
  uint64_t hits = 0, attempts = 0;
  uint64_t hit_ns = 0, total_ns = 0;
  // hits per folding, for rules with several foldings
  std::vector<std::pair<std::string_view, uint64_t>> branches = {};

  void count_branch(std::string_view name) {
    auto it = std::ranges::find(branches, name, &std::pair<std::string_view, uint64_t>::first);
    (it == branches.end() ? branches.emplace_back(name, 0) : *it).second++;
  }
};

// Collects counters cheaply: a try only records the bucket, the class of the node and the rule number it reached.
// by_rule computes the per-rule attempts from these at the end.
class RuleStats {
 public:
  RuleStats();
  std::vector<RuleCounters> by_rule();  // indexed by Rule::id

  // Adds counts from code that applies a rule without a Matcher.
  void add(const Rule& rule, uint64_t hits, uint64_t attempts);

  using Bucket = Matcher::Bucket;

 private:
  friend class CountedMatch;  // fills it (matcher.cpp)
  struct Counters : RuleCounters {  // attempts: only those passed to `add`; times in ticks
    uint32_t calls = 0;             // calls of its right side
  };
  struct Stop {  // number of tries of a bucket that ended at rule number `reached`; later rules were not tried
    const Bucket* bucket;
    uint32_t have, reached;  // `have`: the node's class (Code::class_of)
    uint64_t count;
  };
  Stop& find(const Bucket* bucket, uint32_t have, uint32_t reached);
  void stop(const Bucket* bucket, uint32_t have, uint32_t reached);
  // Counts one try of a bucket; `at` is Code::first_class plus the node's class.
  void try_bucket(const Bucket& bucket, size_t at) {
    if (at >= tries_.size()) tries_.resize(2 * at + 64);
    if (tries_[at]++ == 0) tried_.push_back(&bucket);
  }
  Counters& of(const Rule& rule) {
    if (rule.id >= counters_.size()) counters_.resize(num_rules());
    return counters_[rule.id];
  }

  std::vector<Counters> counters_;
  std::vector<uint64_t> tries_;       // number of tries by class, over all buckets (Code::first_class)
  std::vector<const Bucket*> tried_;  // buckets with tries, with duplicates
  std::vector<Stop> stops_;           // hash table, open addressing, power-of-two size
  size_t used_ = 0;
  uint32_t matches_ = 0;
  uint64_t start_ticks_, start_ns_;
};

}  // namespace tgc
