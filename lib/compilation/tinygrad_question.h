// Makes the question that asks a running tinygrad about a graph.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Asks what tinygrad makes of `graph`, from the stage that its info names on, for its target and under its settings; of
// a tensor graph, asks for the schedule.
TinygradQuestion question_about(const InputGraph& graph);

}  // namespace tgc
