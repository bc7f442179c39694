// Asks a running tinygrad 0.12.0 what it makes of kernels and tensor graphs. README.md describes the protocol.
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/live/answerer.h"
#include "lib/text/golden.h"

namespace tgc {

// One question: a graph for tinygrad, or a port under test (`tgc conform`), to compile. README.md has the protocol.
struct CompileQuestion {
  std::string id, target;
  std::string nodes;               // the graph before the stages, as tgc's JSON
  std::string stage = {};          // the only stage to run; empty: all stages run
  bool is_tensor_graph = false;    // the graph is a tensor graph: its schedule is recorded
  std::string ast = {};            // the same graph as pyrender, which is not sent
  std::vector<std::pair<std::string, std::string>> settings = {};  // tinygrad's variables and their values
  // The following are sent to tinygrad only.
  std::vector<std::string> after = {};  // the stages that made the graph; tinygrad does not run them
  // For each stage, its name and the graph that tgc has after it, as pyrender. tinygrad stops after the first stage
  // whose graph prints differently, and records every rewrite of that stage.
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

  // Returns the record of what tinygrad makes of the graph. If tinygrad refuses the graph, the record has an error and
  // the stages before it. Errors: the process died, timed out, or gave no valid answer.
  Result<GoldenRecord> ask(const CompileQuestion& question);
  // Sets the time limit for each further answer. The default is 60 s, which includes importing tinygrad.
  void set_seconds(double seconds) { process_.set_seconds(seconds); }

 private:
  std::mutex lock_;
  Answerer process_;
  bool has_answered_ = false;
};

}  // namespace tgc
