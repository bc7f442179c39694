// Proves that a compilation keeps what the kernel computes: that the rewrites of each stage lead from its input to its
// result, and that each rewrite computes the same.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/prove/prove_sides.h"
#include "lib/prove/rewrite_history.h"
#include "lib/prove/shown_program.h"

namespace tgc {

struct KernelProof {
  std::string kernel;
  RewriteProof::Kind verdict = RewriteProof::Kind::Unknown;
  std::vector<RewriteProof> rewrites;
  std::vector<RewriteProof> findings = {};  // about whole stages; their places have no rule
  ProofCounts counts;
  double seconds = 0;
  std::optional<Diag> error;  // a stage failed
  bool is_schedule = false;  // else it proves one kernel, not the schedule before it
  size_t checked_stages = 0;  // stages whose graphs REF ran at sample inputs
  std::string checked = {};  // for a schedule: what REF shows
  ShownProgram program = {};  // with --program: a program that shows a refuted rewrite

  size_t count(RewriteProof::Kind kind) const;
  size_t distinct(RewriteProof::Kind kind) const;  // the same; rewrites that are equal up to renaming count once
  FloatSense weakest() const;  // the weakest sense of all proofs
  bool has_floats() const;  // whether a proof compares floats
  std::optional<double> largest_error() const;  // the largest one of all rewrites over the reals that were measured
  void set_verdict();  // sets `verdict` to the worst one of the rewrites and the findings

  std::string producer = {};  // the release that recorded the rewrites; empty: tgc made them
  std::unique_ptr<RewriteHistory> history = {};  // owns the nodes and the texts of places
};

struct KernelProofOptions {
  bool checks_stages = true;  // run the graph of each stage in REF, also if all rewrites are proven
  // Limit for one kernel; what is not decided by then is unknown. 0: none; default: 30 s of processor time.
  std::optional<double> timeout_seconds = {};
};

// Compiles the kernel and decides each of its rewrites.
std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache,
                                          const KernelProofOptions& options = {});
// Decides each recorded rewrite of a kernel record of another release (tinygrad_export.py --rewrites). Throws Failure
// if the record has none.
std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache,
                                             const KernelProofOptions& options = {});

std::string_view name_of(RewriteProof::Kind kind);  // "proven", ...
// Return the proof as text, a line for the kernel and one for each rewrite that is not proven, and as a JSON object.
std::string proof_text(const KernelProof& proof);
std::string proof_json(const KernelProof& proof);
// Returns the verdicts for the page of tgc view, as JSON: a letter for each rewrite of each stage, and notes.
std::string proof_marks(const KernelProof& proof);

}  // namespace tgc
