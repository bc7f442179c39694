// Records the compilation of one graph as JSON for the page: each node once, and each rewrite as the replacement of one
// node by another. README.md describes the format.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/records/golden.h"
#include "lib/trace/trace_file.h"

namespace tgc {

struct RecordedGraph {
  std::string name, target, user_operation;
  // the recording starts with this stage's result; empty: with the AST or tensors
  std::string begin_stage;
  std::string producer;  // the release that recorded the graph; empty: none, or tinygrad 0.12.0
  bool is_tensor_graph = false;
  size_t num_nodes = 0, num_rewrites = 0, num_stages = 0;  // `num_nodes` counts the first graph's
  double wall_ms = 0;                                           // wall time of all stages, with recording; 0: unknown
  std::string error;
  std::optional<GoldenProgram> program;  // launch facts of a kernel, if known
  bool is_of_runtime = false;            // a kernel of tinygrad's runtime, which no schedule contains
  std::vector<int64_t> item_indices;
  int64_t schedule_index = -1;  // of a kernel: the graph with its recorded schedule
  std::string schedule;         // of a recorded tensor graph, as JSON, or empty
  double measured_seconds = 0;  // of a kernel that was run alone; 0: not run
  std::string bisect_json;      // BisectReport::json, or empty
  std::string proof_json;       // proof_marks_json of lib/prove, or empty
  std::string bundle_json;      // bundle_facts of a repro bundle, or empty
  std::string structure_hash;   // of the first graph, without names of kernels
  // The first graph (`begin_stage`, or "ast") and each stage by name, with a hash of the result; "" if the stage did
  // not change the graph or failed.
  std::vector<std::pair<std::string, std::string>> stage_hashes;
  int input_side_index = 0;  // 0: the graph is of the first input, 1: of the second
  // the rewrites, which the page reads after it has drawn the graph
  std::string events_json;
  // nodes, stages and texts; empty: compile_later() makes the graph with `data_json` and `events_json`
  std::string data_json;
  std::function<Result<RecordedGraph>()> compile_later = {};
};

struct TextOptions {
  bool should_include_assembly = true;
  std::vector<std::pair<std::string, std::string>> given_texts = {};  // kind and text
  std::string made_by = {};  // JSON: GoldenRecord::made_by, or empty
  std::string rule_sources = {};  // JSON: by place of a rule, the lines in the user's tinygrad; or empty
};

// Gives each distinct text a number, from 0 in the order of first use.
class TextNumbering {
 public:
  int64_t number_of_text(std::string_view text) {
    auto [at, is_new] = text_numbers_.try_emplace(std::string(text), int64_t(text_views_.size()));
    if (is_new) text_views_.push_back(at->first);
    return at->second;
  }
  const std::vector<std::string_view>& texts() const { return text_views_; }

 private:
  std::unordered_map<std::string, int64_t> text_numbers_;
  std::vector<std::string_view> text_views_;  // views of keys, whose addresses are stable
};

// Begin: `event_node` is the input; numbers: name, rule set, number of rules, 1 if bottom-up. End: `event_node` is the
// result. Rewrite: `event_node` became `new_node`; numbers: the rule, and begin and end of the numbers of the nodes
// made.
// Rebuilt: `event_node` with replaced sources is `new_node`. Gated: `event_node` was not entered.
struct RecordedEvent {
  enum class Kind : uint8_t { Begin, End, Rewrite, Rebuilt, Gated };
  Kind kind;
  UOp event_node, new_node;
  int64_t event_numbers[4] = {};
};

class Recorder : public TraceConsumer {
 public:
  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override;
  void user_operation(std::string_view what) override { graph_.user_operation = what; }
  void begin_stage(std::string_view name, UOp input) override;
  void end_stage(UOp result) override;
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end_rewrite(int depth, UOp result) override;
  void apply_rule(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void rebuild_node(int depth, UOp before, UOp after) override;
  void gate_node(int depth, UOp node) override;

  void set_producer(std::string_view producer) { graph_.producer = producer; }
  void set_begin_stage(std::string_view stage) { graph_.begin_stage = stage; }

  // Returns the recording. `of` is the observed compilation, whose list, source and compilers' outputs are included;
  // null if the events are read from a file.
  RecordedGraph finish_graph(Compilation* of, const TextOptions& texts, const std::string& error = "");

 private:
  using Event = RecordedEvent;
  struct StageEvents {
    std::string name;
    UOp input, result;
    double wall_ms = 0;
    size_t first_event = 0, end_event = 0;
    size_t num_discarded = 0;  // rewrites whose results the stage discarded
  };
  friend class RecordingWriter;

  int64_t number_of_string(std::string_view text) { return string_numbers_.number_of_text(text); }

  RecordedGraph graph_;
  UOp ast_;
  std::vector<Event> events_;
  std::vector<StageEvents> stage_events_;
  TextNumbering string_numbers_;
  struct Rule {
    int64_t name, branch, file, line, source, text;
  };
  std::vector<Rule> rules_;
  std::unordered_map<std::string, size_t> rule_numbers_;
  std::chrono::steady_clock::time_point begin_time_;
};

// Runs a kernel up to the linear list, or a tensor graph up to its schedule. If a stage fails, the recording ends
// there, and `error` says why.
RecordedGraph record_compilation(Compilation& compilation, const TextOptions& texts);

}  // namespace tgc
