// The stages "number the uops" and "earliest rewrites": number the nodes of a tensor graph, remove ops that need no
// kernel (detach, no-op copies, empty tensors) and split large reductions into two kernels.
// Mirrors tinygrad schedule/rangeify.py (earliest_rewrites, add_tags, replace_contiguous).
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"

namespace tgc {

// Ops whose value is contiguous in memory or needs no memory (schedule/indexing.py:ALWAYS_CONTIGUOUS).
inline constexpr OpSet kAlwaysContiguous{Op::CONTIGUOUS,  Op::ASSIGN, Op::COPY,          Op::BUFFER,
                                         Op::BUFFER_VIEW, Op::CONST,  Op::BIND,          Op::DEVICE,
                                         Op::MSELECT,     Op::MSTACK, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL,
                                         Op::DEFINE_REG,  Op::LOAD,   Op::KERNEL,        Op::ENCDEC};

UOp contiguous(UOp u);  // CONTIGUOUS of `u`; `u` itself if it is a CONTIGUOUS or a reshaped BUFFER

// Runs the stage "number the uops": appends each node that may become a buffer to `numbered` tagged with its index.
UOp number_uops(UOp sink, std::vector<UOp>& numbered);
const RuleSet& add_tags();

// Runs the stage "earliest rewrites".
UOp rewrite_earliest(UOp sink);
const RuleSet& earliest_rewrites_stage();  // all rules of the stage "earliest rewrites"
const RuleSet& split_reduceop_rules();     // nested rewrite of split-reduce: pushes an index down to the base
const RuleSet& mop_cleanup();
const RuleSet& earliest_rewrites();
const RuleSet& replace_contiguous();

// The context of replace_contiguous() and of the stage. If a permuted view of a value has a contiguous copy, maps the
// value to this copy with the permutation undone.
struct ContiguousViews {
  std::unordered_map<UOp, UOp> view_of;
};

}  // namespace tgc
