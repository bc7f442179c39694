// The devectorizer (tinygrad codegen/late/devectorizer.py): vector ALU, WMMA and buffers of vectors become scalar ones,
// and what is left of vectors gets the form that renderers print.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

struct KernelJob;

// {op(x.0, y.0), op(x.1, y.1), ...} for op(x, y) on vectors; the empty UOp for scalars and for a gated index.
// For rules.
UOp no_vectorized_alu(UOp alu);

const RuleSet& devectorize_buf_and_index();  // local and register buffers of vectors
const RuleSet& devectorize();
const RuleSet& pm_render();

// The rules of the stage "devectorize"; by DEVECTORIZE.
const RuleSet* devectorize_stage(const KernelJob& job);

}  // namespace tgc
