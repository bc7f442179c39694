// What `tgc stats` counts of rules: tries, hits and time.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/rewrite/matcher.h"

namespace tgc {

// Counts of a rule. Times in nanoseconds.
struct RuleCounters {
  uint64_t hits = 0, attempts = 0;
  uint64_t hit_ns = 0, total_ns = 0;
  // hits of each that applied, of a rule with several foldings
  std::vector<std::pair<std::string_view, uint64_t>> branches = {};

  void count_branch(std::string_view name) {
    auto it = std::ranges::find(branches, name, &std::pair<std::string_view, uint64_t>::first);
    (it == branches.end() ? branches.emplace_back(name, 0) : *it).second++;
  }
};

// Counting must be quick: of a try it notes which rules were tried on what sources, and how far it came; which rules
// those were is worked out at the end.
class RuleStats {
 public:
  RuleStats();
  std::vector<RuleCounters> by_rule();  // by Rule::id

  // What was tried otherwise than by a Matcher.
  void add(const Rule& rule, uint64_t hits, uint64_t attempts);

  using Bucket = Matcher::Bucket;

 private:
  friend class CountedMatch;  // fills it (matcher.cpp)
  struct Counters : RuleCounters {  // attempts are those that `add` was told, and times are in ticks
    uint32_t calls = 0;             // of its action
  };
  struct Stop {  // tries of a bucket that ended at the rule of this number, so that those after it went untried
    const Bucket* bucket;
    uint32_t have, reached;  // of what its rules need, as the bucket numbers it
    uint64_t count;
  };
  Stop& find(const Bucket* bucket, uint32_t have, uint32_t reached);
  void stop(const Bucket* bucket, uint32_t have, uint32_t reached);
  // A try of the rules of a bucket, on a node of that class; `at` is the class's place among those of all buckets.
  void try_bucket(const Bucket& bucket, size_t at) {
    if (at >= tries_.size()) tries_.resize(2 * at + 64);
    if (tries_[at]++ == 0) tried_.push_back(&bucket);
  }
  Counters& of(const Rule& rule) {
    if (rule.id >= counters_.size()) counters_.resize(num_rules());
    return counters_[rule.id];
  }

  std::vector<Counters> counters_;
  std::vector<uint64_t> tries_;       // of each bucket one for each set of ops that its rules need among the sources
  std::vector<const Bucket*> tried_;  // those with tries, some of them more than once
  std::vector<Stop> stops_;           // open addressing, a power of two
  size_t used_ = 0;
  uint32_t matches_ = 0;
  uint64_t start_ticks_, start_ns_;
};

}  // namespace tgc
