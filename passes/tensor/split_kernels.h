// From BUFFERIZEs to kernels: "bufferize to store", "split kernels", "fix_assign", "remove all tags".
// Mirrors tinygrad schedule/rangeify.py (5. split into kernels; get_rangeify_map).
#pragma once
#include "lib/rewrite/rewrite.h"

namespace tgc {

// "bufferize to store": of the sink what became a tensor of the input graph, its BUFFERIZEs made buffers,
// its ranges marked.
UOp bufferize_to_store(UOp sink);
const RuleSet& bufferize_to_store_stage();
const RuleSet& pm_add_range_tags();

// "split kernels": each store with its ranges becomes a KERNEL of an AST over DEFINE_GLOBALs.
UOp split_kernels(UOp sink);
const RuleSet& split_kernels_rules();
const RuleSet& to_define_global();   // buffers, bound variables and ranges are numbered as the kernel meets them
const RuleSet& pm_remove_tags();
const RuleSet& kernel_split();       // all rules that make an AST of a store

// "fix_assign": an assignment to a buffer waits for the kernels that read what the buffer held before.
// Throws Failure on a cycle.
UOp fix_assign(UOp sink);

const RuleSet& remove_all_tags();

}  // namespace tgc
