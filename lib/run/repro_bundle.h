// Repro bundles (lib/text/repro.h) made and repeated: a failure as one file, which every command takes as its INPUT.
#pragma once
#include <string>

#include "lib/run/failure_signature.h"
#include "lib/run/run_kernel.h"
#include "lib/text/repro.h"

namespace tgc {

// The spec with what a bundle says wherever the user said nothing: device, variables, tolerance. Of any other input the
// spec as it is.
RunOptions with_bundle(RunOptions spec, const InputGraph& in);

// The arrays that the user gives by --inputs (--expect), else those of a bundle, else none; `source` receives where
// they come from. Throws Failure.
Arrays given_inputs(const RunOptions& spec, const InputGraph& in, std::string& source);
Arrays given_expected(const RunOptions& spec, const InputGraph& in, std::string& source);

std::vector<ReproArray> bundled(const Arrays& arrays);
Arrays unbundled(const std::vector<ReproArray>& arrays);

// A bundle of the graph as it stands there. `repro` says what went wrong, with which arrays; device, variables,
// tolerance, fault and versions are added.
std::string bundle_text(const Session& session, const RunOptions& spec, const InputGraph& in, const Placement& place,
                        Repro repro);

// Whether what the bundle `in` says of itself still happens, done again.
struct RepeatReport {
  std::string kernel, device;
  std::string was;             // the symptom that the bundle names
  FailureSignature now;
  std::string error;           // nothing could be told

  bool happens() const { return error.empty() && name_of(now.kind) == was; }
  int exit_code() const { return !error.empty() ? 2 : happens() ? 1 : 0; }
  std::string text() const;
  std::string json() const;    // one line
};
// Whether a run of it says that, and nothing else: a bundle that names a symptom, with nothing asked for besides.
bool is_to_repeat(const InputGraph& in, const RunOptions& spec);
RepeatReport repeat(const Session& session, InputGraph& in, const RunOptions& spec);

}  // namespace tgc
