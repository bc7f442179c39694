// The stages from BUFFERIZEs to kernels: "bufferize to store", "split kernels", "fix_assign", "remove all tags".
// Mirrors tinygrad schedule/rangeify.py (split_store, get_rangeify_map).
#pragma once
#include "lib/rewrite/rewrite.h"

namespace tgc {

// Runs the stage "bufferize to store": replaces every BUFFERIZE by a buffer and a STORE, and tags every RANGE. Returns
// a sink of the nodes that hold tensors of the input graph.
UOp bufferize_to_store(UOp sink);
const RuleSet& bufferize_to_store_stage();
const RuleSet& pm_add_range_tags();

// Runs the stage "split kernels": each store with its ranges becomes a KERNEL whose AST uses DEFINE_GLOBALs.
UOp split_kernels(UOp sink);
const RuleSet& split_kernels_rules();
const RuleSet& to_define_global();   // numbers buffers, bound variables and ranges in the order of the rewrite
const RuleSet& pm_remove_tags();
const RuleSet& kernel_split();       // all rules that turn a store into an AST

// Runs the stage "fix_assign": makes each assignment to a buffer wait for the kernels that read the old contents.
// Throws Failure on a cycle.
UOp fix_assign(UOp sink);

const RuleSet& remove_all_tags();

}  // namespace tgc
