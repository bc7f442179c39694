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

// One match of a rule in a compilation.
struct RuleMatch {
  std::string place;            // file and line of the rule in tinygrad: "uop/symbolic.py:113"
  // number of the match among the rule's matches, from 1: those of `stage` or, if it is unset, of the whole compilation
  size_t match_number = 1;
  std::optional<size_t> stage;  // index into the stages of the record
};

// A request to compile one graph, sent to tinygrad or to a port (`tgc conform`). README.md describes the protocol.
struct CompileQuestion {
  std::string id, target;
  std::string graph_json;               // the graph to compile, as tgc's JSON
  std::string stage = {};          // the only stage to run; empty: all stages
  bool is_tensor_graph = false;    // true: a tensor graph, whose schedule is recorded; false: a kernel
  std::string ast = {};            // the same graph as pyrender text. It is not sent, but becomes the AST of the record
                                   // if the answer is only an error
  std::vector<std::pair<std::string, std::string>> settings = {};  // tinygrad's settings with their values
  // The fields below are sent to tinygrad only. tinygrad 0.12.0 obeys the next three for a kernel without is_live.
  std::vector<std::string> finished_stages = {};  // stages that have already run on the graph; tinygrad skips them
  // Pairs of a stage's name and tgc's graph after this stage, as pyrender text. tinygrad stops after the first stage
  // whose text differs from tgc's, and records the rewrites of this stage.
  std::vector<std::pair<std::string, std::string>> named_texts = {};
  std::string last_stage = {};  // the last stage to run; empty: all stages
  bool is_live = false;    // true: a live pipeline asks; a tinygrad of any release answers with a record as the
                           // exporter writes it
  bool records_rewrites = false;   // with is_live: record every match of a rule
  std::string opts = {};   // with is_live: opts that tinygrad applies in place of its own: "[Opt(OptOps.UPCAST, 0, 4)]"
  std::optional<RuleMatch> left_out_match = {};  // with is_live: tinygrad compiles without this match

  std::string json() const;
};

// A request to run an ONNX model with tinygrad's own frontend and scheduler.
struct ModelQuestion {
  std::string id, path;
  std::vector<std::pair<std::string, std::string>> settings = {};  // as in CompileQuestion
  std::map<std::string, int64_t> sizes = {};                       // symbolic dimensions by name

  std::string json() const;
};

// A request for a Python program that shows a wrong rewrite of a rule (python/tgc/export/rule_program.py).
struct ProgramQuestion {
  std::string place;                          // the rule: "uop/symbolic.py:113"
  std::string graph;                          // the left side, as tgc's JSON
  std::map<std::string, std::string> values;  // values of the graph's leaves by name; "before" and "after": the values
                                              // of the two sides
  bool is_rule_alone = false;  // the program applies the rule alone to the left side, and computes both sides
  std::string file = {};       // the file outside of tinygrad that the user named with --rule; it may have the rule

  std::string json() const;
};

struct ProgramAnswer {
  std::string program, printed_text;  // the program's text and what it printed; empty if there is no program
  std::string missing_reason;         // why there is no program; empty if there is one
};

// A tinygrad process. It starts at the first question, answers one question at a time, and is restarted after a
// failure. Several threads may call ask() and ask_text().
class TinygradProcess {
 public:
  // `tinygrad` is a Python that has tinygrad, or a command that contains a space and takes the options of
  // tinygrad_export.py. `stop`: see Answerer.
  TinygradProcess(const std::string& tinygrad, std::function<bool()> stop);

  // Returns the golden record of tinygrad's compilation. If tinygrad refuses the graph, the record has the stages that
  // ran and the error. Fails as Answerer::ask_question does, and for an invalid answer.
  Result<GoldenRecord> ask(const CompileQuestion& question);
  // Returns a program that shows a wrong rewrite, and what it printed when this tinygrad ran it: the value of the
  // rewrite's right side (with `is_rule_alone`, the values of both sides). If there is no such program, returns why.
  Result<ProgramAnswer> ask(const ProgramQuestion& question);
  // Returns the JSON text of the answer to any other question.
  Result<std::string> ask_text(const std::string& question);
  // Sets the time limit for later answers. The default leaves time for the import of tinygrad.
  void set_limit_seconds(double seconds) { process_.set_limit_seconds(seconds); }

 private:
  std::string answer(const std::string& question);
  std::mutex mutex_;
  AnswerProcess process_;
  bool has_answered_ = false;
};

inline constexpr const char* kTinygradVariable = "TGC_TINYGRAD";
// Returns the command or Python that --live or --tinygrad names: `option` or, if `option` is kTinygradVariable, the
// value of the environment variable TGC_TINYGRAD. Fails if this variable is needed and not set.
Result<std::string> resolve_tinygrad(const std::string& option);

// Parameters of export_rules().
struct RulesExport {
  std::string only = {};                   // text that a rule's FILE:LINE must contain; empty: all
  std::string shard = "1/1";               // K/N, the part of the rules to write
  std::function<bool()> should_stop = {};  // called several times a second; the export ends if it returns true
  std::function<void(const std::string&)> on_progress = {};  // called with texts such as "rule 7 of 364"
};

// Makes the tinygrad that --live names write a recording of instances of its rules to the file `path`
// (tinygrad_export.py --rules). Also writes the file `path` + ".progress". Fails if the command fails, and as
// "cancelled" if `should_stop` returns true; the command has ended when this function returns.
Status export_rules(const std::string& tinygrad, const RulesExport& options, const std::string& path);

// The release and the settings that a tinygrad process reports.
struct TinygradFacts {
  std::string producer;            // such as "tinygrad 0.14.0"
  std::set<std::string> settings;  // the settings that a CompileQuestion with is_live may set
};

// A live pipeline: some processes of one tinygrad, which compile graphs at the same time. Each process starts at its
// first question. Several threads may call the functions.
class TinygradPool {
 public:
  // `tinygrad`: see resolve_tinygrad. `stop`: see Answerer.
  TinygradPool(std::string tinygrad, size_t processes, std::function<bool()> stop)
      : tinygrad_(std::move(tinygrad)), max_processes_(processes), should_stop_(std::move(stop)) {}

  // Returns the release and the settings of this tinygrad. Fails if the command does not run a tinygrad.
  Result<TinygradFacts>& facts();
  // Asks a process that is not in use; if there is none, waits for one. If TinygradProcess::ask() fails, the returned
  // record has this as its error, and a new process is used later. Fails if facts() fails, or if the `stop` callback
  // returns true.
  Result<GoldenRecord> ask(const CompileQuestion& question);
  // Returns the records of the kernels that tinygrad makes of a model on the CPU, in the order of their compilation.
  // Fails if facts() or the process fails, or if tinygrad cannot run the model or makes no kernel of it.
  Result<std::vector<GoldenRecord>> ask(const ModelQuestion& question);
  // Sets the time limit of later answers in seconds.
  void set_limit_seconds(double seconds) { limit_seconds_ = seconds; }

 private:
  // The processes that answer questions of one kind. A process that has compiled a kernel has filled tinygrad's caches,
  // which change how often rules match. So questions about rewrites have processes of their own.
  struct ProcessGroup {
    size_t num_started = 0;
    std::vector<std::unique_ptr<TinygradProcess>> free_processes = {};  // processes that no thread uses
  };
  std::unique_ptr<TinygradProcess> take_process(ProcessGroup& group);
  void return_process(ProcessGroup& group, std::unique_ptr<TinygradProcess> process);

  const std::string tinygrad_;
  const size_t max_processes_;
  const std::function<bool()> should_stop_;
  std::optional<double> limit_seconds_;
  std::mutex mutex_;
  std::condition_variable process_freed_;
  ProcessGroup compiling_processes_, rewriting_processes_;
  std::once_flag facts_asked_;
  std::optional<Result<TinygradFacts>> facts_;
};

}  // namespace tgc
