// Saves the arrays of a failed run to files, and builds the command that repeats the run.
#pragma once
#include <string>

#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// Returns whether the graph is a record of the input file. The records that a live pipeline makes of the graphs of a
// file have no line in a file.
inline bool is_recorded_in_file(const InputGraph& in) { return in.record && in.record->line > 0; }

// Returns `pattern` with its first {} replaced by the path of the input file without its last extension or, for a
// golden record, FILE#ID or standard input, by a file name made from `name`, such as the record's id.
std::string fill_in_name(const std::string& pattern, const InputOptions& input, const std::string& name,
                         bool is_record);
inline std::string fill_in_name(const std::string& pattern, const InputOptions& input, const InputGraph& in) {
  return fill_in_name(pattern, input, in.info.name, is_recorded_in_file(in));
}

// Expands the pattern of --save or --repro to a path, and reserves the path for one kernel. Fails if another kernel
// has reserved it already.
Result<std::string> take_path(const std::string& pattern, const RunOptions& options, const std::string& name,
                              bool is_record);

// Returns `command` with each {} replaced by the path `file`, for --cmd and --while='cmd ...'.
std::string with_file(std::string command, const std::string& file);

// Fails if `command` has no {}, because a command without the path of the graph gives the same result for every graph.
// The error quotes `option`.
Status check_takes_file(const std::string& option, const std::string& command);

// Returns `text` quoted as one word for a shell.
std::string shell_word(const std::string& text);

// Returns the prefix "TGC_FAULT=... " for a command, so that the command seeds the same fault. Returns "" if this
// environment variable is unset or empty.
std::string fault_prefix();

// Returns the options that choose the graph, what compiles it, and how it runs, such as " --device=REF". Leaves out
// those for arrays, seed and reference, among others.
std::string repeated_options(const Session& session, const RunOptions& options, const InputGraph& in,
                             const Placement& place);

// Returns the command that repeats the failure of the repro bundle `path`.
std::string bundle_command(const Session& session, const std::string& path);

// Returns the option " --device=..." that selects this device, for REF with a target also " --target=..."; "" if none
// was chosen.
std::string place_options(const Placement& place);

// Returns the path, without an ending, for the files of a failing run in the folder of --save-failures. The path
// differs from those of the command's earlier runs. Creates the folder.
Result<std::string> failure_stem(const RunOptions& options, const std::string& name);

// Adds the command that repeats a failed run to the report. With --save-failures, first writes the arrays of the run to
// files, and the input if it was read from standard input, and adds their paths. Without that option, a run of standard
// input has no such command. Fails if a file cannot be written.
Status save_failure(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                    const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report);

}  // namespace tgc
