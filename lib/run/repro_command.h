// How a failure is repeated: the files that keep its arrays, and the command.
#pragma once
#include <string>

#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Returns `pattern` with {} replaced by the input without its extension; for a golden record, by a file name made of
// its id `name`.
std::string expanded(const std::string& pattern, const InputOptions& input, const std::string& name, bool is_record);
inline std::string expanded(const std::string& pattern, const InputOptions& input, const InputGraph& in) {
  return expanded(pattern, input, in.info.name, in.record != nullptr);
}

// Returns the expanded pattern of --save or --repro as a path that is taken from now on. Throws Failure if results of
// another kernel are there already.
std::string take_path(const std::string& pattern, const RunOptions& options, const std::string& name, bool is_record);

// Returns the command with `file` in place of each {}, for --cmd and --while='cmd ...'.
std::string with_file(std::string command, const std::string& file);

// Returns an error if the command has no {}: it would say the same of every graph. `option` is shown as the user gave
// it.
Status check_takes_file(const std::string& option, const std::string& command);

// Returns `text` as one word of a shell.
std::string shell_word(const std::string& text);

// Returns "TGC_FAULT=... " if the environment asks for a fault, else nothing: the begin of a command that repeats a
// run.
std::string fault_again();

// Returns the options that lead to the same run of that graph, each as " --name=value", except for arrays, seed and
// reference.
std::string options_again(const Session& session, const RunOptions& options, const InputGraph& in,
                          const Placement& place);

// Returns " --device=..." and " --target=...", which lead to that place again.
std::string place_options(const Placement& place);

// Writes the arrays of a failed run to files, and the input if it came from standard input. The report receives their
// names and the command that repeats the run with them. Throws Failure.
void keep_failure(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                  const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report);

}  // namespace tgc
