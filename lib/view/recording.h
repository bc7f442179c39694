// Records the compilation of one graph as JSON for the page: each node once, and each rewrite as the replacement of a
// node. README.md describes the format; apps/tgc/view/replay.js reconstructs the graph after every rewrite.
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

// One graph of a page: a kernel or a tensor graph.
struct RecordedGraph {
  std::string name, target, made_for;
  std::string begins;    // the stage whose result the recording starts with; empty: it starts with the AST or tensors
  std::string producer;  // the release that recorded the graph; empty: tgc compiled it, or it is of tinygrad 0.12.0
  bool is_tensor_graph = false;
  size_t nodes = 0, rewrites = 0, stages = 0;  // numbers; `nodes` are those of the first graph
  double ms = 0;                               // milliseconds of all stages, including the recording; 0: unknown
  std::string error;                           // the error of the pipeline; empty if there is none
  std::optional<GoldenProgram> program;        // launch facts of a kernel; nullopt: not known
  bool runtime = false;                        // true for a kernel of tinygrad's runtime, which no schedule contains
  std::vector<int64_t> numbers;                // for a kernel of a schedule: its indices in the schedule
  int64_t schedule_of = -1;                    // for a kernel of a recorded schedule: index of the graph that has it
  std::string schedule;                        // for a recorded tensor graph: its schedule as JSON, or empty
  double measured = 0;                         // for a kernel that was run alone: its seconds; 0: not run
  std::string accused;                         // result of a bisection (BisectReport::json), or empty
  std::string proof;                           // verdicts of the rewrites (proof_marks of lib/prove), or empty
  std::string bundle;                          // for a repro bundle: bundle_facts (bundle_facts.h), else empty
  std::string structure;                       // a hash of the first graph without the names of kernels
  // The first graph and each stage, by name, with a hash of the result; "" if the stage did not change the graph. The
  // name of the first graph is `begins`, or "ast".
  std::vector<std::pair<std::string, std::string>> results;
  int side = 0;                                // the input that has the graph: 0 for the first, 1 for the second
  std::string events;                          // the rewrites as JSON, which the page reads after drawing `data`
  std::string data;                            // the graph as JSON; empty: `later` makes `data` and `events`
  std::function<Result<RecordedGraph>()> later = {};
};

// Which texts a recording has besides the graphs of the stages.
struct TextChoice {
  bool assembly = true;  // include the LLVM IR and assembly that compilers make
  std::vector<std::pair<std::string, std::string>> given = {};  // texts that the input has: kind and text
  std::string made_by = {};  // JSON: the methods that made nodes of the first graph (GoldenRecord::made_by); or empty
  std::string rules = {};  // JSON: by place of a rule, the source lines in the user's tinygrad; or empty
};

// Gives each distinct text a number, from 0 in the order of first use.
class NumberedTexts {
 public:
  int64_t number(std::string_view text) {
    auto [at, is_new] = numbers_.try_emplace(std::string(text), int64_t(texts_.size()));
    if (is_new) texts_.push_back(at->first);
    return at->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string_view> texts_;  // views of numbers_' keys, whose addresses are stable
};

// An event of TraceConsumer. Begin: `a` is the input, and `numbers` are the index of the graph rewrite's name, the
// index of the rule set, the number of rules, and 1 if bottom-up. End: `a` is the result. Rewrite: `a` became `b`, and
// `numbers` are the index of the rule, and the begin and end of the numbers of the nodes that the rewrite made.
// Rebuilt: `a` with replaced sources is `b`. Gated: `a` was not entered.
struct RecordedEvent {
  enum class Kind : uint8_t { Begin, End, Rewrite, Rebuilt, Gated };
  Kind kind;
  UOp a, b;
  int64_t numbers[4] = {};
};

// Records the trace events of one graph; finish() returns them as JSON.
class Recorder : public TraceConsumer {
 public:
  void kernel(std::string_view id, std::string_view target, UOp ast) override;
  void made_for(std::string_view what) override { graph_.made_for = what; }
  void stage(std::string_view name, UOp input) override;
  void stage_end(UOp result) override;
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end(int depth, UOp result) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void rebuilt(int depth, UOp before, UOp after) override;
  void gated(int depth, UOp node) override;

  // Sets RecordedGraph::producer.
  void recorded_by(std::string_view producer) { graph_.producer = producer; }
  // Sets RecordedGraph::begins.
  void begins_behind(std::string_view stage) { graph_.begins = stage; }

  // Returns the recording, with the pipeline's error. `of` is the observed compilation, whose list, source and outputs
  // of compilers are included; null if the events are read from a file.
  RecordedGraph finish(Compilation* of, const TextChoice& texts, const std::string& error = "");

 private:
  using Event = RecordedEvent;
  struct StageEvents {
    std::string name;
    UOp input, result;
    double ms = 0;
    size_t first = 0, last = 0;  // indices in events_
    size_t discarded = 0;        // number of rewrites whose results the stage discarded
  };
  friend class RecordingWriter;

  int64_t string(std::string_view text) { return strings_.number(text); }

  RecordedGraph graph_;
  UOp ast_;
  std::vector<Event> events_;
  std::vector<StageEvents> stages_;
  NumberedTexts strings_;
  struct Rule {
    int64_t name, branch, file, line, source, text;
  };
  std::vector<Rule> rules_;
  std::unordered_map<std::string, size_t> rule_numbers_;
  std::chrono::steady_clock::time_point begun_;
};

// Runs the pipeline on a kernel up to the linear list, or on a tensor graph up to its schedule, and returns the
// recording. If a stage fails, the recording ends there, and `error` says why.
RecordedGraph record(Compilation& compilation, const TextChoice& texts);

}  // namespace tgc
