// Compares what tgc makes of a graph with what a running tinygrad makes of it, stage by stage.
#pragma once
#include <string>

#include "lib/live/tinygrad_process.h"
#include "lib/replay/record_check.h"

namespace tgc {

// A kernel or a tensor graph as text.
struct KernelText {
  std::string ast;          // the graph's nodes in pyrender form
  GoldenSettings settings;
  std::string target;       // empty: a tensor graph
};

// Returns the settings that differ from tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// Asks tinygrad for a record of the graph and replays that record. Errors: those of TinygradProcess::ask.
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

}  // namespace tgc
