// Lowers UOps to REF's code. Internal to ref/.
#pragma once
#include <span>

#include "lib/runtime/ref/code.h"
#include "lib/uop/graph.h"

namespace tgc::ref {

// Both functions throw Failure with the node that REF cannot run.
Code lower_graph(UOp sink, bool count_evaluations);                // graph.cpp
Code lower_list(std::span<const UOp> list, bool count_evaluations);  // list.cpp

}  // namespace tgc::ref
