// Makes the question that asks a running tinygrad about a graph.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Asks what tinygrad makes of `graph` after the stage that its info names, for its target and under its settings.
CompileQuestion question_about(const InputGraph& graph);

}  // namespace tgc
