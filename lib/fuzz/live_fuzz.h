// Fuzzes the tinygrad of a live pipeline: `tgc fuzz --live`.
#pragma once
#include "lib/fuzz/fuzz.h"

namespace tgc {

// Draws kernels (lib/fuzz/random_kernel.h), writes each in the IR of the session's live pipeline, and lets it
// compile them. Runs the AST, every recorded stage and the recorded list in REF, and the recorded source on its device.
// A kernel whose results differ from those of its AST is compiled once more with its rewrites and bisected. Reports one
// kernel for each rule, or for each stage if no rule is found. spec.graph is the number of the only kernel to draw.
FuzzReport fuzz_live(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
