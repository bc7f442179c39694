// Proves that each rewrite of a compilation keeps what the kernel computes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/prove/prove_sides.h"
#include "lib/compilation/pipeline.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {

struct KernelProof {
  std::string kernel;
  RewriteProof::Kind verdict = RewriteProof::Kind::Unknown;
  std::vector<RewriteProof> rewrites;
  ProofCounts counts;
  double seconds = 0;
  std::optional<Diag> error;  // a stage failed

  size_t count(RewriteProof::Kind kind) const;
  size_t distinct(RewriteProof::Kind kind) const;  // the same; rewrites that are equal up to renaming count once
  FloatSense weakest() const;  // the weakest sense of all proofs
  bool has_floats() const;  // whether a proof compares floats
  void set_verdict();  // sets `verdict` to the worst one of the rewrites

  std::string producer = {};  // the release that recorded the rewrites; empty: tgc made them
  ApplicationLog log = {};
  std::optional<Compilation> compilation = {};  // owns the nodes of the log
  std::unique_ptr<Pipeline> recorded = {};  // owns the texts of recorded rewrites
};

// Compiles the kernel and decides each of its rewrites.
std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache);
// Decides each recorded rewrite of a kernel record of another release (tinygrad_export.py --rewrites). Throws Failure
// if the record has none.
std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache);

std::string_view name_of(RewriteProof::Kind kind);  // "proven", ...
// Return the proof as text, a line for the kernel and one for each rewrite that is not proven, and as a JSON object.
std::string proof_text(const KernelProof& proof);
std::string proof_json(const KernelProof& proof);
// Returns the verdicts for the page of tgc view, as JSON: a letter for each rewrite of each stage, and notes.
std::string proof_marks(const KernelProof& proof);

}  // namespace tgc
