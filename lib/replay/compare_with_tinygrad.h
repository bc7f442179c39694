// Compiles a graph with tgc and with a running tinygrad, and compares the results stage by stage.
#pragma once
#include <string>

#include "lib/live/tinygrad_process.h"
#include "lib/replay/record_check.h"

namespace tgc {

// A kernel or a tensor graph as text.
struct KernelText {
  std::string ast;          // the graph as pyrender text
  GoldenSettings settings;
  std::string target;       // empty: a tensor graph
};

// Returns the settings that differ from tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// Has tinygrad compile the graph to a golden record, and replays the record. Errors: those of TinygradProcess::ask.
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

}  // namespace tgc
