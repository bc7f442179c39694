// Makes a failure repeatable: writes files with its arrays, and builds the command that runs it again.
#pragma once
#include <string>

#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Returns `pattern` with {} replaced by the name of the input file without its extension or, for a golden record, by a
// file name made of the record's id `name`.
std::string expanded(const std::string& pattern, const InputOptions& input, const std::string& name, bool is_record);
inline std::string expanded(const std::string& pattern, const InputOptions& input, const InputGraph& in) {
  return expanded(pattern, input, in.info.name, in.record != nullptr);
}

// Returns the path that the pattern of --save or --repro stands for, and reserves this path for one kernel. Throws
// Failure if another kernel reserved it before.
std::string take_path(const std::string& pattern, const RunOptions& options, const std::string& name, bool is_record);

// Returns the command with `file` in place of each {}, for --cmd and --while='cmd ...'.
std::string with_file(std::string command, const std::string& file);

// Returns an error if the command has no {}: without the file's name, it would give the same result for every graph.
// `option` is the option's text, for the error.
Status check_takes_file(const std::string& option, const std::string& command);

// Returns `text` quoted so that a shell reads it as one word.
std::string shell_word(const std::string& text);

// Returns "TGC_FAULT=... " if that environment variable is set, else "". A command that repeats a run begins with this
// text, so that it seeds the same fault.
std::string fault_again();

// Returns the options that repeat this run of the graph, each as " --name=value". Options for arrays, seed and
// reference are not included.
std::string options_again(const Session& session, const RunOptions& options, const InputGraph& in,
                          const Placement& place);

// Returns the options " --device=..." and " --target=..." that choose this device and target.
std::string place_options(const Placement& place);

// Writes the arrays of a failed run to files, and also the input if it came from standard input. Adds to the report
// these files' names and a command that repeats the run with them. Throws Failure.
void keep_failure(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                  const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report);

}  // namespace tgc
