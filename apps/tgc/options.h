// Options that several commands share, and the session that they make.
#pragma once
#include <string>
#include <vector>

#include "lib/session/session.h"

namespace CLI {
class App;
}

namespace tgc {

// --target, --device (the same, unless the command has a --device of its own), --set, --opts.
void add_pipeline_options(CLI::App& command, Overrides& over, bool device_is_target = true);
void add_weights_option(CLI::App& command, Overrides& over);
void add_size_option(CLI::App& command, Overrides& over);
void add_kernel_option(CLI::App& command, std::string& kernel);

// A session that talks to the terminal: progress, warnings and what DEBUG prints go to standard error.
Session terminal_session(unsigned jobs);
// One that compiles: a variable of tinygrad that is set and does nothing here is a note.
Session terminal_session(Overrides over, unsigned jobs = 1);

}  // namespace tgc
