// Lowers UOps to REF's code. Internal to ref/.
#pragma once
#include <span>

#include "lib/runtime/ref/code.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// Both throw Failure with the node that cannot be run.
Code lower_graph(UOp sink, bool count_evaluations);                // graph.cpp
Code lower_list(std::span<const UOp> list, bool count_evaluations);  // list.cpp

}  // namespace tgc::ref
