// Compiles a graph with tgc and with a running tinygrad, and compares the graphs after every stage.
#pragma once
#include <string>

#include "lib/compare/record_check.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// A kernel or a tensor graph as text.
struct KernelText {
  std::string ast;          // the graph as pyrender text
  GoldenSettings settings;
  std::string target;       // target of the kernel; empty: a tensor graph
};

// Returns the settings whose values are not tinygrad's defaults.
GoldenSettings changed_settings(const Settings& settings);

// Lets tinygrad compile the graph to a golden record, and replays the record. Fails as TinygradProcess::ask() does.
Result<RecordReport> compare_with_tinygrad(TinygradProcess& tinygrad, const KernelText& graph, const std::string& name);

}  // namespace tgc
