// The first rewrites of a tensor graph: its nodes are numbered, and what needs no kernel of its own, or more than one,
// is put in order. Mirrors tinygrad schedule/rangeify.py (0. do some cleanup rewrites; add_tags, replace_contiguous).
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/rewrite/rewrite.h"

namespace tgc {

// Ops whose value is in memory, one after the other, or needs none (schedule/indexing.py ALWAYS_CONTIGUOUS).
inline constexpr OpSet kAlwaysContiguous{Op::CONTIGUOUS,  Op::ASSIGN, Op::COPY,          Op::BUFFER,
                                         Op::BUFFER_VIEW, Op::CONST,  Op::BIND,          Op::DEVICE,
                                         Op::MSELECT,     Op::MSTACK, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL,
                                         Op::DEFINE_REG,  Op::LOAD,   Op::KERNEL,        Op::ENCDEC};

UOp contiguous(UOp u);  // u.contiguous(): itself where it is so already

// "number the uops": tags each node that may become a buffer with its place in `numbered`.
UOp number_uops(UOp sink, std::vector<UOp>& numbered);
const RuleSet& add_tags();

// "earliest rewrites"
UOp rewrite_earliest(UOp sink);
const RuleSet& earliest_rewrites_stage();  // all of its rules
const RuleSet& split_reduceop_rules();     // a rewrite inside: how far an axis reaches
const RuleSet& mop_cleanup();
const RuleSet& earliest_rewrites();
const RuleSet& replace_contiguous();

// The context of replace_contiguous(), and so of the stage: values that are read through a contiguous copy of a
// permuted view.
struct ContiguousViews {
  std::unordered_map<UOp, UOp> view_of;
};

}  // namespace tgc
