// "symbolic+reduce_collapse+debuf" and "limit buffers": which of the buffers that rangeify put in are worth having.
// Mirrors tinygrad schedule/rangeify.py (3.5 cleanups).
#pragma once
#include "lib/rewrite/rewrite.h"
#include "passes/tensor/indexing.h"

namespace tgc {

const RuleSet& pm_const_buffer_folding();  // buffers of constants, of axes that nothing varies over, of buffers
const RuleSet& pm_remove_bufferize();      // buffers that are cheaper to compute again
const RuleSet& gated_substitute();         // a rewrite inside: replaces ranges, in what lies in them
const RuleSet& remove_bufferize_stage();   // "symbolic+reduce_collapse+debuf": all of its rules

UOp limit_buffers(UOp sink, IndexingContext& ctx);
const RuleSet& pm_limit_bufs();            // values that would make a kernel read more buffers than its device can bind

}  // namespace tgc
