// Writes repro bundles (lib/records/repro.h), and runs a bundle again to see whether its failure still happens.
#pragma once
#include <string>

#include "lib/records/repro.h"
#include "lib/run/failure_signature.h"
#include "lib/run/run_options.h"
#include "lib/validate/kernel_trial.h"

namespace tgc {

// For a bundle, sets the device, variables and tolerance that the user did not set.
RunOptions options_with_bundle(RunOptions options, const InputGraph& in);

// read_given_inputs() returns the arrays of --inputs, given_expected_arrays() of --expect (none with --reference).
// Without the option, return those of the bundle, or none. `source` receives the file's path. Fail if it is unreadable.
Result<Arrays> read_given_inputs(const RunOptions& options, const InputGraph& in, std::string& source);
Result<Arrays> given_expected_arrays(const RunOptions& options, const InputGraph& in, std::string& source);

// Returns the arrays, seed and variables of a trial of the kernel `in`. With --inputs and without --seed, no array is
// random. Fails if a file cannot be read, or if the file of --inputs is for this kernel only and has another array.
Result<TrialInputs> make_trial_inputs(const RunOptions& options, const InputGraph& in);

std::vector<ReproArray> arrays_to_bundle(const Arrays& arrays);
Arrays arrays_from_bundle(const std::vector<ReproArray>& arrays);

// Returns the text of a repro bundle. `repro` holds the failure and the arrays; the function adds what the options and
// this computer determine.
std::string bundle_text(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                        Repro repro);
// Writes a bundle to the path of --repro, and returns the path, with {} replaced by fill_in_name() for `name` or, if
// that is empty, the graph's name. Fails if the file cannot be written or is that of another kernel.
Result<std::string> write_bundle(const Session& session, const RunOptions& options, const InputGraph& in,
                                 const Placement& place, Repro repro, const std::string& name = "");

struct RepeatReport {
  std::string kernel, device;
  std::string recorded_kind;  // kind of the failure that the bundle records
  FailureSignature current_failure;
  std::string error;          // why the bundle could not be run

  bool is_still_failing() const { return error.empty() && name_of(current_failure.kind) == recorded_kind; }
  int exit_code() const { return !error.empty() ? 2 : is_still_failing() ? 1 : 0; }
  std::string text() const;
  std::string json() const;
};
// Returns whether `in` is a bundle of a failure, and no option asks for other results, as --save does.
bool should_repeat_failure(const InputGraph& in, const RunOptions& options);
RepeatReport repeat_failure(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
