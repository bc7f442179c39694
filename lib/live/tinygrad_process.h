// Has a running tinygrad 0.12.0 compile kernels and tensor graphs. README.md describes the protocol.
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/live/answerer.h"
#include "lib/text/golden.h"

namespace tgc {

// One question: a graph to compile for tinygrad or for the compiler that `tgc conform` tests. Protocol: README.md.
struct CompileQuestion {
  std::string id, target;
  std::string nodes;               // the graph before the stages, as tgc's JSON
  std::string stage = {};          // the only stage to run; empty: all stages run
  bool is_tensor_graph = false;    // the graph is a tensor graph: its schedule is recorded
  std::string ast = {};            // the same graph as pyrender text; not sent to the process
  std::vector<std::pair<std::string, std::string>> settings = {};  // tinygrad's variables and their values
  // The following are sent to tinygrad only.
  std::vector<std::string> after = {};  // the stages that were run on the graph already; tinygrad skips them
  // For each stage, its name and tgc's graph after the stage, as pyrender text. tinygrad stops after the first stage
  // for which its pyrender text differs, and records every rewrite of that stage.
  std::vector<std::pair<std::string, std::string>> texts = {};
  std::string until = {};  // the last stage to run; empty: all stages run

  std::string json() const;
};

// A tinygrad process. It starts with the first question, answers one question after another, and is restarted after it
// died or timed out. Several threads may ask.
class TinygradProcess {
 public:
  // `tinygrad`: a Python with tinygrad and tgc.export, or a command that takes the options of tinygrad_export.py.
  // `stop`: see Answerer::ask.
  TinygradProcess(const std::string& tinygrad, std::function<bool()> stop);

  // Returns the record of tinygrad's compilation of the graph. If tinygrad refuses the graph, the record has an error
  // and the stages before the error. Errors: the process died, timed out, or gave no valid answer.
  Result<GoldenRecord> ask(const CompileQuestion& question);
  // Sets the time limit for each further answer. The default is 60 s, which includes importing tinygrad.
  void set_seconds(double seconds) { process_.set_seconds(seconds); }

 private:
  std::mutex lock_;
  Answerer process_;
  bool has_answered_ = false;
};

}  // namespace tgc
