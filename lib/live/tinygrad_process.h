// Lets a running tinygrad 0.12.0 compile kernels and tensor graphs. README.md describes the protocol.
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/live/answerer.h"
#include "lib/text/golden.h"

namespace tgc {

// A request to compile one graph, sent to tinygrad or to a port (`tgc conform`). README.md describes the protocol.
struct CompileQuestion {
  std::string id, target;
  std::string nodes;               // the graph to compile, as tgc's JSON
  std::string stage = {};          // the only stage to run; empty: all stages
  bool is_tensor_graph = false;    // true: a tensor graph, whose schedule is recorded; false: a kernel
  std::string ast = {};            // the same graph as pyrender text, which is not sent
  std::vector<std::pair<std::string, std::string>> settings = {};  // tinygrad's settings with their values
  // The fields below are sent to tinygrad only.
  std::vector<std::string> after = {};  // stages that the graph has been through, which tinygrad skips
  // By stage: its name and tgc's graph after it, as pyrender text. tinygrad stops after the first stage whose pyrender
  // text differs, and records the rewrites of this stage.
  std::vector<std::pair<std::string, std::string>> texts = {};
  std::string until = {};  // the last stage to run; empty: all stages

  std::string json() const;
};

// A tinygrad process. It starts at the first question, answers one question at a time, and is restarted after a
// failure. Several threads may call ask().
class TinygradProcess {
 public:
  // `tinygrad` is a Python that has tinygrad and tgc.export, or a command with the options of tinygrad_export.py.
  // `stop`: see Answerer.
  TinygradProcess(const std::string& tinygrad, std::function<bool()> stop);

  // Returns the golden record of tinygrad's compilation. If tinygrad refuses the graph, the record has the stages
  // before and the error. Fails if the process ends, exceeds the time limit, or gives an invalid answer.
  Result<GoldenRecord> ask(const CompileQuestion& question);
  // Sets the time limit for later answers. The default, 60 s, leaves time for the import of tinygrad.
  void set_seconds(double seconds) { process_.set_seconds(seconds); }

 private:
  std::mutex lock_;
  Answerer process_;
  bool has_answered_ = false;
};

}  // namespace tgc
