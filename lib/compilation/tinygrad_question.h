// Makes the question (CompileQuestion) to a running tinygrad about how it compiles a graph.
#pragma once
#include "lib/compilation/input_graph.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

// Returns the question what tinygrad's stages after graph.info.stage make of `graph`, for its target and settings.
CompileQuestion question_about(const InputGraph& graph);

}  // namespace tgc
