// Lets a running tinygrad compile kernels, tensor graphs and models, show wrong rewrites, and record instances of its
// rules. README.md describes the protocol.
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/live/answerer.h"
#include "lib/records/golden.h"

namespace tgc {

struct RuleMatch {
  std::string place;  // the rule's place in tinygrad: "uop/symbolic.py:113"
  // counts the rule's matches from 1, in the stage of index `stage` or, without `stage`, in the whole compilation
  size_t match_number = 1;
  std::optional<size_t> stage;
};

// A request to compile a graph, to tinygrad or to a port (`tgc conform`).
struct CompileQuestion {
  std::string id, target;
  std::string graph_json;  // the graph as tgc's JSON
  std::string stage = {};          // the only stage to run; empty: all
  bool is_tensor_graph = false;    // true: tinygrad schedules a tensor graph; false: it compiles a kernel
  // The graph as pyrender text; may be empty. It is not sent. If the answer is only an error, it becomes the record's
  // AST.
  std::string ast = {};
  std::vector<std::pair<std::string, std::string>> settings = {};
  // Sent to tinygrad only. tinygrad 0.12.0 obeys the next three for a kernel without is_live.
  std::vector<std::string> finished_stages = {};  // stages that tinygrad skips, because they ran already
  // A stage's name, and tgc's graph after it as pyrender text. tinygrad stops after the first stage that differs, and
  // records its rewrites.
  std::vector<std::pair<std::string, std::string>> stage_graph_texts = {};
  std::string last_stage = {};  // the last stage to run; empty: all
  bool is_live = false;  // for a live pipeline: any release answers with a record as the exporter writes it
  bool records_rewrites = false;  // with is_live: record every match of a rule
  std::string opts = {};  // with is_live: opts in place of tinygrad's own: "[Opt(OptOps.UPCAST, 0, 4)]"
  std::optional<RuleMatch> excluded_match = {};  // with is_live: tinygrad compiles without this match

  std::string json() const;
};

// A request to run an ONNX model with tinygrad's own frontend and scheduler.
struct ModelQuestion {
  std::string id, path;
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::map<std::string, int64_t> sizes = {};  // symbolic dimensions by name

  std::string json() const;
};

// A request for a Python program that shows a wrong rewrite of a rule (python/tgc/export/rule_program.py).
struct ProgramQuestion {
  std::string place;                          // the rule: "uop/symbolic.py:113"
  std::string graph;                          // the left side, as tgc's JSON
  std::map<std::string, std::string> values;  // of the left side's leaves, by name; of the sides: "before", "after"
  bool is_rule_alone = false;  // the program applies the rule alone to the left side, and computes both sides
  std::string file = {};       // file outside of tinygrad that may have the rule

  std::string json() const;
};

struct ProgramAnswer {
  std::string program, printed_text;  // the program, and what it printed; empty if there is none
  std::string missing_reason;         // why there is no program
};

// A process that starts at the first question, answers one at a time, and is restarted after a failure. Several threads
// may call ask_process() and ask_text().
class TinygradProcess {
 public:
  // `tinygrad` is a Python that has tinygrad, or a command with a space that takes the options of tinygrad_export.py.
  // `stop`: see AnswerProcess.
  TinygradProcess(const std::string& tinygrad, std::function<bool()> stop);

  // Returns the golden record of tinygrad's compilation; if tinygrad refuses the graph, the record has the error. Fails
  // as AnswerProcess::ask_question(), and for an invalid answer.
  Result<GoldenRecord> ask_process(const CompileQuestion& question);
  // Returns a program that shows a wrong rewrite, and what it printed when this tinygrad ran it, or why there is none.
  // The program prints the wrong value and the right one or, with `is_rule_alone`, the values of both sides.
  Result<ProgramAnswer> ask_process(const ProgramQuestion& question);
  // Asks any question, a line of JSON. Returns the answer's JSON text.
  Result<std::string> ask_text(const std::string& question);
  // The default leaves time for the import of tinygrad.
  void set_limit_seconds(double seconds) { answer_process_.set_limit_seconds(seconds); }

 private:
  std::string ask_or_throw(const std::string& question);
  std::mutex mutex_;
  AnswerProcess answer_process_;
  bool has_answered_ = false;
};

inline constexpr const char* kTinygradVariable = "TGC_TINYGRAD";
// Returns `option` or, if that is kTinygradVariable, the value of this environment variable. Fails if the variable is
// unset or empty.
Result<std::string> resolve_tinygrad(const std::string& option);

struct RulesExportOptions {
  std::string rule_filter = {};            // text that a rule's FILE:LINE must contain; empty: all
  std::string shard = "1/1";               // K/N, the part of the rules to write
  std::function<bool()> should_stop = {};  // called several times a second; true ends the export
  std::function<void(const std::string&)> on_progress = {};  // such as "rule 7 of 364"
};

// Makes a tinygrad write a recording of instances of its rules to `path` (tinygrad_export.py --rules), and the file
// `path` + ".progress". Fails if the command fails, and as "cancelled" if `should_stop` returns true; the command has
// then ended.
Status export_rules(const std::string& tinygrad, const RulesExportOptions& options, const std::string& path);

struct TinygradFacts {
  std::string producer;
  std::set<std::string> settings;  // settings that a CompileQuestion with is_live may set
};

// A live pipeline: processes of one tinygrad, which compile graphs at the same time. Each starts at its first question.
// Several threads may call facts() and ask_process().
class TinygradPool {
 public:
  // `tinygrad` and `stop`: see TinygradProcess.
  TinygradPool(std::string tinygrad, size_t processes, std::function<bool()> stop)
      : tinygrad_command_(std::move(tinygrad)), max_processes_(processes), should_stop_(std::move(stop)) {}

  // Returns the release and settings of this tinygrad, which the first call asks for. Fails if no tinygrad answered.
  Result<TinygradFacts>& facts();
  // Asks a free process, or waits for one. If TinygradProcess::ask_process() fails, the returned record has this error.
  // Fails if facts() fails, or if the `stop` callback ended the question.
  Result<GoldenRecord> ask_process(const CompileQuestion& question);
  // Returns the records of the kernels that tinygrad makes of a model on the CPU, in the order of their compilation.
  // Fails if facts() or the process fails, or if tinygrad cannot run the model or makes no kernel of it.
  Result<std::vector<GoldenRecord>> ask_process(const ModelQuestion& question);
  void set_limit_seconds(double seconds) { limit_seconds_ = seconds; }

 private:
  // A process that has compiled a kernel has filled tinygrad's caches, which change how often rules match. So questions
  // about rewrites have processes of their own.
  struct ProcessGroup {
    size_t num_started = 0;
    std::vector<std::unique_ptr<TinygradProcess>> free_processes = {};
  };
  std::unique_ptr<TinygradProcess> take_process(ProcessGroup& group);
  void return_process(ProcessGroup& group, std::unique_ptr<TinygradProcess> process);

  const std::string tinygrad_command_;
  const size_t max_processes_;
  const std::function<bool()> should_stop_;
  std::optional<double> limit_seconds_;
  std::mutex mutex_;
  std::condition_variable process_freed_event_;
  ProcessGroup compiling_processes_, rewriting_processes_;
  std::once_flag facts_once_flag_;
  std::optional<Result<TinygradFacts>> facts_;
};

}  // namespace tgc
