// Options that several commands share, and the session that they make.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace CLI {
class App;
}

namespace tgc {

struct ToleranceOptions;
struct RunOptions;

// --limit and --allow-custom, of every command.
void add_limit_options(CLI::App& app);
// --target, --device (the same, unless the command has a --device of its own), --set, --opts.
void add_pipeline_options(CLI::App& command, Overrides& over, bool device_is_target = true);
void add_weights_option(CLI::App& command, Overrides& over);
void add_size_option(CLI::App& command, Overrides& over);
void add_kernel_option(CLI::App& command, std::string& kernel);
// What `run` and `bisect` take alike: --inputs, --seed, --var, --expect, --reference, the tolerances, --timeout,
// --kernel; and --device, whose help they have themselves.
void add_trial_options(CLI::App& command, RunOptions& trial, const std::string& about_device);
void add_emulator_options(CLI::App& command);  // take effect when the command line is read
void add_repro_option(CLI::App& command, std::string& file);
void add_tolerance_options(CLI::App& command, ToleranceOptions& tolerance);  // --rtol, --atol, --ulp

// What check() of an option takes to see that a number is one, in decimal, and from `least` to `most`. CLI11 alone
// takes -1 for a large unsigned number, 010 for 8, NaN for a number in any range, and what overflows for the largest.
using NumberCheck = std::function<std::string(const std::string& text)>;
NumberCheck whole_number(int64_t least, int64_t most);
NumberCheck real_number(double least, double most);
inline const int64_t kMostThreads = 1024, kMostShown = 1'000'000'000, kMostRuns = 1'000'000;
inline const double kMostSeconds = 1e7;

// A session that talks to the terminal: progress, warnings and what DEBUG prints go to standard error.
Session terminal_session(unsigned jobs);
// One that compiles: a variable of tinygrad that is set and does nothing here is a note.
Session terminal_session(Overrides over, unsigned jobs = 1);

// Under BEAM=N, by --set or by the environment: kernels get the opts that `tgc beam` has found (lib/beam/found_opts.h).
// The variables of the search are taken out of --set, for they are none of the pipeline.
Overrides with_found_opts(Overrides over);

}  // namespace tgc
