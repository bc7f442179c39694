// prove_kernel decides whether a compilation keeps what the kernel computes. The rewrites of each stage must lead from
// the stage's input to its result, and both sides of each rewrite must compute the same.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/prove/approximations.h"
#include "lib/prove/prove_sides.h"
#include "lib/prove/rewrite_history.h"
#include "lib/prove/shown_program.h"

namespace tgc {

struct KernelProof {
  std::string kernel;
  RewriteProof::Kind verdict = RewriteProof::Kind::Unknown;
  std::vector<RewriteProof> rewrites;
  std::vector<RewriteProof> stage_findings = {};  // verdicts about stages or the kernel as a whole, not a rule
  ProofCounts counts;
  double proof_seconds = 0;
  std::optional<Diag> error;                               // set if a part of the compilation or of the proof failed
  bool is_schedule = false;
  size_t num_checked_stages = 0;
  std::string schedule_check_text = {};                    // for a schedule: the result of its run in REF, as text
  ShownProgram program = {};
  size_t num_with_verdict(RewriteProof::Kind kind) const;
  // returns the number of rewrites with this verdict, counting those that are equal up to renaming once
  size_t num_distinct_proofs(RewriteProof::Kind kind) const;
  FloatSense weakest_sense() const;
  bool has_floats() const;
  // Returns the largest error that was measured, at sample points, of rewrites that are proven over the reals; nullopt
  // if none was measured.
  std::optional<double> largest_error() const;
  // the approximations of functions, by their keys: the function ("LOG2 float") and the error
  std::map<std::string, std::pair<std::string, ApproximationError>> approximations = {};
  // sets `verdict` to the worst one of the rewrites and findings; after an error, at least to Unknown
  void set_verdict();
  std::string producer = {};                     // the release that recorded the rewrites; empty if tgc made them
  std::unique_ptr<RewriteHistory> rewrite_history = {};  // owns the nodes, and the texts of RewriteProof::place
};

struct KernelProofOptions {
  bool should_check_stages = true;  // run the graphs of stages in REF, also if all rewrites are proven
  // Time limit for one kernel in seconds of wall time; 0 for no limit. Unset: 30 s of processor time and 1500 s of wall
  // time.
  std::optional<double> timeout_seconds = {};
};

// Compiles the kernel by tgc's own stages and decides each rewrite.
std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache,
                                          const KernelProofOptions& options = {});
// Decides each rewrite in tinygrad's record (tinygrad_export.py --rewrites) of a kernel or a tensor graph.
// KernelProof::error tells if the record has no rewrites, or if tinygrad did not finish the kernel.
std::unique_ptr<KernelProof> prove_recording(const InputGraph& in, ProofCache& cache,
                                             const KernelProofOptions& options = {});

std::string_view name_of(RewriteProof::Kind kind);
// Returns the proof as text: a line for the kernel, and lines for rewrites that are not proven.
std::string proof_text(const KernelProof& proof);
std::string proof_json(const KernelProof& proof);
// Returns the verdicts for the page of `tgc view`, as JSON: a letter for each rewrite of each stage, and notes.
std::string proof_marks_json(const KernelProof& proof);

}  // namespace tgc
