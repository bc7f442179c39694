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
  // The first recorded graph is the result of this stage; if empty, it is the AST or the tensor graph.
  std::string begin_stage;
  std::string producer;  // such as "tinygrad 0.14.0"; may be empty for graphs of 0.12.0 and for those that tgc compiled
  bool is_tensor_graph = false;
  size_t num_nodes = 0, num_rewrites = 0, num_stages = 0;  // `num_nodes` is that of the first graph
  double wall_ms = 0;                                           // wall time of all stages, with recording; 0: unknown
  std::string error;
  std::optional<GoldenProgram> program;  // the launch facts of a kernel, if known
  bool is_runtime_kernel = false;            // true for a kernel of tinygrad's runtime, which no schedule has
  std::vector<int64_t> item_indices;
  int64_t schedule_index = -1;  // index of the graph with the kernel's recorded schedule, or -1
  std::string schedule_json;         // the result of recorded_schedule_json(), or empty
  double measured_seconds = 0;  // shortest time of a kernel that was run alone, or 0
  std::string bisect_json;      // the result of BisectReport::json(), or empty
  std::string proof_json;       // the result of proof_marks_json() in lib/prove, or empty
  std::string bundle_json;      // the result of bundle_facts() for a repro bundle, or empty
  std::string structure_hash;   // hash of the first graph, without the names of kernels
  // The first graph (`begin_stage`, or "ast") and each stage by name, with a hash of the result; "" if the stage did
  // not change the graph or failed.
  std::vector<std::pair<std::string, std::string>> stage_hashes;
  int input_side_index = 0;  // 0 for a graph of the first input, 1 for the second input
  // The events as JSON, which the page reads after it has drawn the graph.
  std::string events_json;
  // The nodes, stages and texts as JSON. If empty, compile_later() makes `data_json` and `events_json`.
  std::string data_json;
  std::function<Result<RecordedGraph>()> compile_later = {};
};

struct TextOptions {
  bool should_include_assembly = true;
  std::vector<std::pair<std::string, std::string>> recorded_texts = {};  // pairs of kind and text
  std::string methods_json = {};  // JSON: GoldenRecord::methods_json, or empty
  std::string rule_sources = {};  // JSON: the lines of rules in the user's tinygrad, or empty
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

// An event of a graph rewrite. The fields depend on the kind:
// Begin: `event_node` is the input. `event_numbers` are the name, the rule set, the number of rules, and 1 if the
// rewrite is bottom-up.
// End: `event_node` is the result.
// Rewrite: `event_node` became `new_node`. `event_numbers` are the rule, and the begin and end of the numbers of the
// nodes made.
// Rebuilt: `new_node` is `event_node` with replaced sources.
// Gated: the rewrite did not enter `event_node`.
struct RecordedEvent {
  enum class Kind : uint8_t { Begin, End, Rewrite, Rebuilt, Gated };
  Kind kind;
  UOp event_node, new_node;
  int64_t event_numbers[4] = {};
};

class GraphRecorder : public TraceConsumer {
 public:
  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override;
  void user_operation(std::string_view what) override { graph_.user_operation = what; }
  void begin_stage(std::string_view name, UOp input) override;
  void end_stage(UOp result) override;
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end_rewrite(int depth, UOp result) override;
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void on_node_rebuilt(int depth, UOp before, UOp after) override;
  void on_node_gated(int depth, UOp node) override;

  void set_producer(std::string_view producer) { graph_.producer = producer; }
  void set_begin_stage(std::string_view stage) { graph_.begin_stage = stage; }

  // Returns the recording. `of` is the observed compilation, whose list, source and compilers' outputs are included, or
  // null if tgc does not compile the graph.
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

// Compiles a kernel up to the linear list, or a tensor graph up to its schedule. If a stage fails, the recording ends
// there, and `error` says why.
RecordedGraph record_compilation(Compilation& compilation, const TextOptions& texts);

}  // namespace tgc
