// Proves that each rewrite of a compilation keeps what the kernel computes.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/prove/obligation.h"
#include "lib/trace/applications.h"

namespace tgc {

struct RewriteProof {
  enum class Kind : uint8_t {
    Proven,  // for all values
    Sampled,  // equal at sample points in REF, but not proven
    Refuted,  // REF computes different values
    Unknown,  // neither proven nor evaluated
  };
  Kind kind = Kind::Unknown;
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;  // of a proof
  std::string_view by = {};  // what decided: "values", "same", the name of a contract, "samples"
  std::string why = {};  // why it was not proven
  size_t application = 0;  // index into KernelProof::log
  // If refuted: values of loops and variables for which the sides differ, and both sides' values there, from REF.
  std::map<std::string, std::string> counterexample = {};
};

struct KernelProof {
  std::string kernel;
  RewriteProof::Kind verdict = RewriteProof::Kind::Unknown;
  std::vector<RewriteProof> rewrites;
  ProofCounts counts;
  double seconds = 0;
  std::optional<Diag> error;  // a stage failed

  size_t count(RewriteProof::Kind kind) const;
  FloatSense weakest() const;  // the weakest sense of all proofs
  bool has_floats() const;  // whether a proof compares floats

  ApplicationLog log;
  std::optional<Compilation> compilation;  // owns the nodes of the log
};

// Compiles the kernel and decides each of its rewrites.
std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache);

std::string_view name_of(RewriteProof::Kind kind);  // "proven", ...
// Return the proof as text, a line for the kernel and one for each rewrite that is not proven, and as a JSON object.
std::string proof_text(const KernelProof& proof);
std::string proof_json(const KernelProof& proof);

}  // namespace tgc
