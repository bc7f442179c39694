// The devectorizer (tinygrad codegen/late/devectorizer.py): splits vector ALU ops, long WMMAs and buffers of vectors
// into scalar ones, and rewrites the remaining vectors to the form that renderers print.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

struct KernelJob;

// Rewrites op(x, y) on vectors to {op(x.0, y.0), op(x.1, y.1), ...}. Returns the empty UOp (declines) for scalars and
// for a gated index.
UOp no_vectorized_alu(UOp alu);

const RuleSet& devectorize_buf_and_index();  // local and register buffers of vectors -> buffers of scalars
const RuleSet& devectorize();
const RuleSet& pm_render();                  // vectors and masked loads -> the form that renderers print

// Returns the rules of the stage "devectorize" for the setting DEVECTORIZE (0, 1 or 2).
const RuleSet* devectorize_stage(const KernelJob& job);

}  // namespace tgc
