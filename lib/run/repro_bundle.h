// Writes repro bundles (lib/text/repro.h): files that hold a failing kernel with its arrays and options, and that every
// command takes as INPUT. Also runs a bundle again to see whether its failure still happens.
#pragma once
#include <string>

#include "lib/run/failure_signature.h"
#include "lib/run/run_options.h"
#include "lib/text/repro.h"

namespace tgc {

// If `in` is a bundle, returns the options with the bundle's device, variables and tolerance for those that the user
// did not set. Otherwise returns the options unchanged.
RunOptions with_bundle(RunOptions options, const InputGraph& in);

// given_inputs: returns the arrays of --inputs; without this option, those of the bundle; else none. given_expected:
// the same for --expect. `source` receives the name of the arrays' file. Both throw Failure if it cannot be read.
Arrays given_inputs(const RunOptions& options, const InputGraph& in, std::string& source);
Arrays given_expected(const RunOptions& options, const InputGraph& in, std::string& source);

std::vector<ReproArray> bundled(const Arrays& arrays);
Arrays unbundled(const std::vector<ReproArray>& arrays);

// Returns the text of a bundle of the graph. `repro` describes the failure and its arrays; this function adds device,
// variables, tolerance, fault and versions.
std::string bundle_text(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                        Repro repro);
// Writes bundle_text() to the file that --repro names; of `repro.said` only the first line. Returns the path. `name`
// stands for {} in the path if the input has no file name; if it is empty, the graph's name does. Throws Failure.
std::string write_bundle(const Session& session, const RunOptions& options, const InputGraph& in,
                         const Placement& place, Repro repro, const std::string& name = "");

// The result of running a bundle again: whether its failure still happens.
struct RepeatReport {
  std::string kernel, device;
  std::string was;       // the failure that the bundle names
  FailureSignature now;
  std::string error;     // why it is unknown whether the failure happens; empty if it is known

  bool happens() const { return error.empty() && name_of(now.kind) == was; }
  int exit_code() const { return !error.empty() ? 2 : happens() ? 1 : 0; }
  std::string text() const;
  std::string json() const;    // one line
};
// Returns whether a run of `in` is to repeat a failure: `in` is a bundle with a failure, and no option asks for more.
bool is_to_repeat(const InputGraph& in, const RunOptions& options);
RepeatReport repeat(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
