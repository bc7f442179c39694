// Makes the request to a running tinygrad process to compile a graph.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Returns the request to run tinygrad's stages after graph.info.stage on `graph`, with the graph's target and settings.
CompileQuestion question_about(const InputGraph& graph);

}  // namespace tgc
