// The stages "symbolic+reduce_collapse+debuf", which removes the BUFFERIZEs whose value is cheap to recompute, and
// "limit buffers". Mirrors tinygrad schedule/rangeify.py (cleanup_dead_axes to pm_limit_bufs).
#pragma once
#include "lib/rewrite/rewrite.h"
#include "passes/tensor/indexing.h"

namespace tgc {

const RuleSet& pm_const_buffer_folding();  // removes BUFFERIZEs of constants and buffers, and axes of equal values
const RuleSet& pm_remove_bufferize();      // recomputes a value instead of storing it, if recomputing is cheap
const RuleSet& gated_substitute();         // nested rewrite: substitutes ranges; skips nodes that do not depend on them
const RuleSet& remove_bufferize_stage();   // all rules of "symbolic+reduce_collapse+debuf"

// What keeps a BUFFERIZE that this stage did not remove.
struct KeptBufferize {
  bool is_removable = true;   // false: BufferizeOpts forbid it
  size_t buffers = 0;         // the number of buffers that its value reads; more than 3 are kept
  bool reduces_buffer = false;  // its value has a reduction of a buffer, which would be computed for each use
};
KeptBufferize what_keeps(UOp bufferize);

// Runs the stage "limit buffers": buffers operands of kernels that would read more buffers than the device can bind.
UOp limit_buffers(UOp sink, IndexingContext& ctx);
const RuleSet& pm_limit_bufs();

}  // namespace tgc
