// Makes the question that asks a running tinygrad about a graph.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Asks what tinygrad makes of `graph` by the stages after graph.info.stage, for the graph's target and settings.
CompileQuestion question_about(const InputGraph& graph);

}  // namespace tgc
