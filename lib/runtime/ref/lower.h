// Lowers UOps to REF's code. Internal to ref/.
#pragma once
#include <span>

#include "lib/runtime/ref/code.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// lower_graph and lower_list throw Failure, which names the node, if REF cannot run a node.
Code lower_graph(UOp sink, bool count_evaluations);                // graph.cpp
Code lower_list(std::span<const UOp> list, bool count_evaluations);  // list.cpp

}  // namespace tgc::ref
