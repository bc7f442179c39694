// tinygrad itself, asked what it makes of kernels, and what tgc makes of them, text by text.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/live/answerer.h"
#include "lib/text/golden.h"

namespace tgc {

struct RecordReport;

struct KernelText {
  std::string ast;          // pyrender
  GoldenSettings settings;
  std::string target;       // empty: it is a tensor graph
};

// The settings that are not tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// tinygrad 0.12.0 in one process, which is started when it is first asked, answers for one kernel after another, and is
// started anew where it dies or takes longer than a minute. Several threads may ask. The questions are README.md's.
class Tinygrad {
 public:
  // `tinygrad`: a Python with it and tgc.export, or a command that takes what tinygrad_export.py takes. `session`
  // outlives it.
  Tinygrad(const Session& session, const std::string& tinygrad);
  Tinygrad(const Session&&, const std::string&) = delete;

  // Where it need not go on, of what tgc itself makes of the kernel.
  struct Stops {
    // What there is after stages, by their names. Where it makes another text it stops, and the record has all rewrites
    // of that stage.
    std::vector<std::pair<std::string, std::string>> texts;
    std::string until;  // the last stage that is wanted; empty: all are
  };
  // What it makes of a kernel from the stage on that its info names, for the target there, under its graph's settings;
  // of a tensor graph, its schedule.
  // Where it refuses, the record has an error, and what there is up to there. Errors: it died, or took too long.
  Result<GoldenRecord> record_of(const InputGraph& kernel, const Stops& stops = {});
  // How long an answer may take from now on, in place of a minute.
  void set_seconds(double seconds) { process_.set_seconds(seconds); }

 private:
  std::mutex lock_;
  LastingAnswerer process_;
  bool answered_ = false;  // once
};

// Compiled, or scheduled, by tinygrad, as above, and replayed. An error: there is no answer.
Result<RecordReport> compared_with(Tinygrad& tinygrad, const KernelText& graph, const std::string& name);

}  // namespace tgc
