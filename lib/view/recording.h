// A graph's way through the pipeline as data for the page: each node once, each rewrite as what it replaced. README.md
// describes the format; apps/tgc/view/replay.js makes every graph on the way of it again.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/trace/trace.h"

namespace tgc {

// One graph in the list of all that a page shows.
struct RecordedGraph {
  std::string name, target, made_for;
  std::string begins;    // the stage whose result its first graph is; empty: that is the AST, or the tensor graph
  std::string producer;  // another release that recorded it; empty: none
  bool is_tensor_graph = false;
  size_t nodes = 0, rewrites = 0, stages = 0;  // nodes: of its AST
  double ms = 0;                               // of all stages, watched
  std::string error;                           // why the pipeline stopped, if it did
  std::string ops, mem;                        // of a kernel: what it costs, as text
  std::vector<int64_t> numbers;                // of a schedule's kernel: its places in it
  double measured = 0;                         // of a kernel that was run alone: seconds; 0: it was not
  std::string accused;                         // what a bisection says of it (BisectReport::json), or empty
  std::string bundle;                          // of a repro bundle: what else is in it (bundle_facts.h), or empty
  int side = 0;                                // 1: of the second input
  std::string events;                          // the JSON of its rewrites, which the page reads once it has drawn data
  std::string data;                            // the JSON; empty: both are to be made when they are asked for, by
  std::function<Result<RecordedGraph>()> later = {};
};

// Which texts are made of a graph besides its stages.
struct TextChoice {
  bool assembly = true;  // what only compilers make
  std::vector<std::pair<std::string, std::string>> given = {};  // texts that are there already: kind and text
};

// Texts by number, each once.
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
  std::vector<std::string_view> texts_;  // of numbers_, whose keys stay where they are
};

struct RecordedEvent {
  enum class Kind : uint8_t { Begin, End, Rewrite, Rebuilt, Gated };
  Kind kind;
  UOp a, b;
  int64_t numbers[4] = {};  // of Begin: name, set, rules, bottom-up; of Rewrite: rule, made from, made to, ns
};

// Keeps what one graph goes through, until it is asked for.
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

  // It was recorded by another release of tinygrad, of that name.
  void recorded_by(std::string_view producer) { graph_.producer = producer; }
  // The first graph is what that stage left.
  void begins_behind(std::string_view stage) { graph_.begins = stage; }

  // All of it. `of`, where there is one, is the compilation that was watched: its list, source and so on are made and
  // recorded, too. `error`: why it stopped.
  RecordedGraph finish(Compilation* of, const TextChoice& texts, const std::string& error = "");

 private:
  using Event = RecordedEvent;
  struct StageEvents {
    std::string name;
    UOp input, result;
    double ms = 0;
    size_t first = 0, last = 0;  // into events_
  };
  friend class RecordingWriter;

  int64_t string(std::string_view text) { return strings_.number(text); }

  RecordedGraph graph_;
  UOp ast_;
  std::vector<Event> events_;
  std::vector<StageEvents> stages_;
  NumberedTexts strings_;
  struct Rule {
    int64_t name, branch, file, line, source;
  };
  std::vector<Rule> rules_;
  std::unordered_map<std::string, size_t> rule_numbers_;
  std::chrono::steady_clock::time_point begun_;
};

// Runs the whole pipeline over a graph; of a tensor graph up to its schedule. What the pipeline refuses is recorded up
// to there, and says why.
RecordedGraph record(Compilation& compilation, const TextChoice& texts);

}  // namespace tgc
