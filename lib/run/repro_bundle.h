// Writes repro bundles (lib/text/repro.h), which hold a failure as one file that every command takes as its INPUT, and
// repeats their failures.
#pragma once
#include <string>

#include "lib/run/failure_signature.h"
#include "lib/run/run_options.h"
#include "lib/text/repro.h"

namespace tgc {

// Returns the options with the bundle's device, variables and tolerance wherever the user gave none; for any other
// input the options unchanged.
RunOptions with_bundle(RunOptions options, const InputGraph& in);

// Return the arrays of --inputs (--expect), else those of a bundle, else none; `source` receives where they come from.
// Throw Failure if the file cannot be read.
Arrays given_inputs(const RunOptions& options, const InputGraph& in, std::string& source);
Arrays given_expected(const RunOptions& options, const InputGraph& in, std::string& source);

std::vector<ReproArray> bundled(const Arrays& arrays);
Arrays unbundled(const std::vector<ReproArray>& arrays);

// Returns a bundle of the graph. `repro` says what went wrong, with which arrays; its device, variables, tolerance,
// fault and versions are filled in.
std::string bundle_text(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                        Repro repro);
// Writes that bundle to the file that --repro names, and returns the file's path. Only the first line of
// `repro.said` is kept. `name` replaces {} if the input has no file name; empty: the graph's name. Throws Failure.
std::string write_bundle(const Session& session, const RunOptions& options, const InputGraph& in,
                         const Placement& place, Repro repro, const std::string& name = "");

// Whether a bundle's failure still happens.
struct RepeatReport {
  std::string kernel, device;
  std::string was;       // the failure that the bundle names
  FailureSignature now;
  std::string error;     // why the failure cannot be told

  bool happens() const { return error.empty() && name_of(now.kind) == was; }
  int exit_code() const { return !error.empty() ? 2 : happens() ? 1 : 0; }
  std::string text() const;
  std::string json() const;    // one line
};
// Returns whether a run of `in` repeats its failure: `in` is a bundle that names one, and the options ask for no more.
bool is_to_repeat(const InputGraph& in, const RunOptions& options);
RepeatReport repeat(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
