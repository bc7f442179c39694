// Writes repro bundles (lib/records/repro.h): files that hold a failing kernel with its arrays and options, and that
// every command takes as INPUT. Also runs a bundle again to see whether its failure still happens.
#pragma once
#include <string>

#include "lib/records/repro.h"
#include "lib/run/failure_signature.h"
#include "lib/run/run_options.h"
#include "lib/validate/kernel_trial.h"

namespace tgc {

// If `in` is a bundle, returns `options` with the bundle's device and variables in place of those that the user did not
// set, and with the bundle's tolerance if the user set no tolerance. Otherwise returns `options`.
RunOptions with_bundle(RunOptions options, const InputGraph& in);

// given_inputs() returns the arrays of --inputs; without this option, those of the bundle, or none. given_expected()
// does the same for --expect, but returns none with --reference. `source` receives the path of the file. Both fail if
// the file cannot be read.
Result<Arrays> given_inputs(const RunOptions& options, const InputGraph& in, std::string& source);
Result<Arrays> given_expected(const RunOptions& options, const InputGraph& in, std::string& source);

// Returns what a trial of the kernel `in` starts from: given_inputs(), --var, --seed, and the variables that the record
// of `in` binds. With --inputs and without --seed, no array is random. Fails if a file cannot be read, or if the
// file of --inputs is for this kernel only and has another array.
Result<TrialInputs> trial_inputs(const RunOptions& options, const InputGraph& in);

std::vector<ReproArray> arrays_to_bundle(const Arrays& arrays);
Arrays arrays_from_bundle(const std::vector<ReproArray>& arrays);

// Returns the text of a repro bundle of the graph. `repro` holds the failure and the arrays; this function adds the
// device, variables, tolerance and seeded fault, the versions of tgc, tinygrad and LLVM, and the processor.
std::string bundle_text(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                        Repro repro);
// Writes bundle_text(), with the failure's message cut to its first line, to the path of --repro. Returns the path. In
// the path, {} is replaced as by fill_in_name(), with `name` or, if that is empty, the graph's name. Fails if the file
// cannot be written or is that of another kernel.
Result<std::string> write_bundle(const Session& session, const RunOptions& options, const InputGraph& in,
                                 const Placement& place, Repro repro, const std::string& name = "");

// The result of running a bundle again.
struct RepeatReport {
  std::string kernel, device;
  std::string recorded_kind;  // kind of the failure that the bundle records
  FailureSignature current_failure;
  std::string error;          // why the bundle could not be run; empty if it ran

  bool still_happens() const { return error.empty() && name_of(current_failure.kind) == recorded_kind; }
  int exit_code() const { return !error.empty() ? 2 : still_happens() ? 1 : 0; }
  std::string text() const;
  std::string json() const;    // the report as one line of JSON
};
// Returns whether a run of `in` repeats a failure: `in` is a bundle of a failure, and no option (--repro, --save,
// --bench, --each-stage, --sanitize) asks for other results.
bool should_repeat_failure(const InputGraph& in, const RunOptions& options);
RepeatReport repeat_failure(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
