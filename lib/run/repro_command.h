// How a failure is repeated: the files that keep its arrays, and the command.
#pragma once
#include <string>

#include "lib/run/run_kernel.h"

namespace tgc {

// `pattern` with {} replaced by the input without its extension; of a record by a file name made of its id.
std::string expanded(const std::string& pattern, const RunOptions& spec, const std::string& name, bool is_record);
inline std::string expanded(const std::string& pattern, const RunOptions& spec, const InputGraph& in) {
  return expanded(pattern, spec, in.info.name, in.record != nullptr);
}

// Where --save keeps the results of that graph. Throws Failure when another one's are there already.
std::string path_to_save(const RunOptions& spec, const std::string& name, bool is_record);

// The command with `file` in place of each {}: what --cmd and --while='cmd ...' run.
std::string with_file(std::string command, const std::string& file);

// An error when it has none, and so would say the same of every graph; `option` as the user gave it.
Status check_takes_file(const std::string& option, const std::string& command);

// `text` as one word of a shell.
std::string shell_word(const std::string& text);

// "TGC_FAULT=... " when the environment asks for a fault, else nothing: how a command that repeats it begins.
std::string fault_again();

// The options that lead to the same trial of that graph, each as " --name=value"; without arrays, seed and reference.
std::string options_again(const Session& session, const RunOptions& spec, const InputGraph& in, const Placement& place);

// " --device=..." and " --target=...", as they lead to that place again.
std::string place_options(const Placement& place);

// Keeps the arrays of a trial in files, and the input when it came from standard input; their names and the command
// that repeats the trial with them go into the report. Throws Failure.
void keep_failure(const Session& session, const RunOptions& spec, const InputGraph& in, const Placement& place,
                  const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report);

}  // namespace tgc
