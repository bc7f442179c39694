// Counts rewrites and nodes of pipelines, for `tgc patterns` and `tgc stats`.
#pragma once
#include <map>
#include <string>

#include "lib/compilation/pipeline.h"

namespace tgc {

// Rewrites of one rule, without discarded ones.
struct RuleCount {
  size_t num_hits = 0;
  // by the op of the node that was rewritten, and by stage
  std::map<std::string, size_t> hits_by_op, hits_by_stage;
};

class RewriteCounts {
 public:
  // Counts only in the stages that `stages` lists ("": in all stages), and only nodes with one of `ops` and rewrites of
  // such nodes (empty: all).
  RewriteCounts(std::string stages, OpSet ops) : stage_selection_(std::move(stages)), ops_(ops) {}

  // Counts the rewrites and nodes of a pipeline. Returns an error if the pipeline fails.
  Status add_pipeline(Pipeline& pipeline);
  size_t num_pipelines() const { return num_pipelines_; }
  // Returns an error if a listed stage is in no pipeline.
  Status check_words_matched() const { return stage_selection_.check_words_matched(); }

  // Return the report of `tgc stats`: rewrites by rule, nodes by op and, if all are counted, the recorded times.
  std::string text() const;
  std::string json() const;
  // Return the report of `tgc patterns`: each rule with its hits, its ops and its stages.
  std::string rules_text() const;
  std::string rules_json() const;

 private:
  struct RuleTime {
    int64_t num_matches = 0, num_attempts = 0;
    double match_ms = 0, total_ms = 0;
  };
  bool is_counted(UOp u) const { return ops_.empty() || u.in(ops_); }
  std::map<std::string, size_t> num_hits() const;
  void add_rule_times(const GoldenRecord& record);
  std::vector<std::pair<std::string, RuleTime>> slowest_rules() const;
  std::string rule_times_text() const;

  StageSelection stage_selection_;
  OpSet ops_;
  std::map<std::string, RuleCount> rule_counts_;          // by rule_name()
  std::map<std::string, size_t> nodes_by_op_;
  std::map<std::string, RuleTime> rule_times_;            // by the rule's place in tinygrad
  std::vector<std::pair<std::string, double>> stage_ms_;
  size_t num_timed_pipelines_ = 0;                                  // pipelines with times of stages
  size_t num_pipelines_ = 0, num_graphs_ = 0, num_discarded_ = 0;
  bool has_no_rewrites_ = false;         // a pipeline has no recorded rewrites
};

}  // namespace tgc
