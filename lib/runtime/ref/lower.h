// From UOps to REF's code. Inside: for ref/ alone.
#pragma once
#include <span>

#include "lib/runtime/ref/code.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// Throw Failure, naming the node, for what cannot be run.
Code lower_graph(UOp sink, bool count_evaluations);                // graph.cpp
Code lower_list(std::span<const UOp> list, bool count_evaluations);  // list.cpp

}  // namespace tgc::ref
