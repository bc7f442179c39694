#pragma once
#include <string>

#include "lib/run/run_options.h"
#include "lib/run/run_report.h"

namespace tgc {

// False without a record, and for a record that a live pipeline makes of a graph of a file.
inline bool is_recorded_in_file(const InputGraph& in) { return in.record && in.record->line > 0; }

// Returns `pattern` with its first {} replaced by the path of the input file without its last extension or, for a
// golden record, FILE#ID or standard input, by a file name made from `name`.
std::string fill_in_name(const std::string& pattern, const InputOptions& input, const std::string& name,
                         bool is_record);
inline std::string fill_in_name(const std::string& pattern, const InputOptions& input, const InputGraph& in) {
  return fill_in_name(pattern, input, in.info.name, is_recorded_in_file(in));
}

// Expands the pattern of --save or --repro to a path, and reserves the path for one kernel. Fails if another kernel has
// it.
Result<std::string> reserve_path(const std::string& pattern, const RunOptions& options, const std::string& name,
                                 bool is_record);

// Replaces each {} of a command of --cmd or --while by the path `file`.
std::string command_with_file(std::string command, const std::string& file);

// Fails if `command` has no {}: it would give the same result for every graph. The error quotes `option`.
Status check_takes_file(const std::string& option, const std::string& command);

std::string quote_for_shell(const std::string& text);

// Returns "TGC_FAULT=... ", with which a command seeds the same fault; "" without a fault.
std::string fault_command_prefix();

// Returns the options that a command needs to repeat a run, except those for arrays, such as " --device=REF".
std::string repeated_options(const Session& session, const RunOptions& options, const InputGraph& in,
                             const Placement& place);

// Returns the command that repeats the failure of the repro bundle `path`.
std::string bundle_command(const Session& session, const std::string& path);

// Returns " --device=...", for REF with a target also " --target=..."; "" if no device was chosen.
std::string placement_options(const Placement& place);

// Returns the path, without an ending, for the files of a failing run in the folder of --save-failures, which it
// creates. The path is none of OutputOptions::used_paths.
Result<std::string> failure_file_stem(const RunOptions& options, const std::string& name);

// Adds the command that repeats a failed run to the report, if the input can be read again. With --save-failures, first
// writes the arrays of the run, and an input from standard input, to files. Fails if a file cannot be written.
Status save_failure(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                    const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report);

}  // namespace tgc
