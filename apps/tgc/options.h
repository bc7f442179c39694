#pragma once
#include <string>

#include "apps/tgc/command.h"
#include "lib/driver/session.h"

namespace tgc {

struct ToleranceOptions;
struct RunOptions;
struct CiOptions;
class CiReport;
enum class Ability : uint8_t;

void add_global_options(CLI::App& app);  // adds the options that every command takes

inline constexpr const char* kLiveOption = "--live{TGC_TINYGRAD}";  // the braces have the value of a bare --live
inline constexpr const char* kLiveOptionHelp = "compile with this Python's tinygrad; alone: that of TGC_TINYGRAD";

// Adds INPUT (a string or a vector of strings) and --kernel. `also` is a part of INPUT's help text.
template <class Input>
void add_input_options(CliCommand& cmd, Input& input, std::string& kernel, const std::string& also = "") {
  cmd.set_group(OptionGroup::Input);
  cmd.add_positional("INPUT", input, "a file (`tgc help inputs`), or FILE#ID" + also + "; default: standard input");
  cmd.add_option("--kernel", kernel, "N|NAME", "take one record, or one kernel of a tensor graph; N counts from 0");
}
void add_weights_option(CliCommand& cmd, CompileOverrides& overrides);
void add_size_option(CliCommand& cmd, CompileOverrides& overrides);  // adds --var for symbolic sizes of a model
// Adds --target (with the alias --device, if `is_device_target`), --set and --opts and, with `has_live`, --live and
// --native.
void add_pipeline_options(CliCommand& cmd, CompileOverrides& overrides, bool is_device_target = true,
                          bool has_live = true);
// Adds the options that `run`, `bisect` and `reduce` share. `device_help` is the help text of --device.
void add_run_options(CliCommand& cmd, RunOptions& options, CompileOverrides& overrides, const std::string& device_help);
// adds --language, the language of hand-written kernels
void add_language_option(CliCommand& cmd, std::string& language);
// Adds --save-failures, the folder for the arrays of failing runs.
void add_save_failures_option(CliCommand& cmd, std::string& folder);
void add_repro_option(CliCommand& cmd, std::string& file);  // adds --repro
void add_ci_options(CliCommand& cmd, CiOptions& options);  // adds --junit and --sarif
// Writes the reports that `options` asks for, and prints annotations; with `json`, to standard error.
void write_ci_reports(const CiOptions& options, const CiReport& report, bool json);

// Throws Failure if the user gave one of `options` and the pipeline lacks `ability`, which these options need.
void require_for_options(const CLI::App& app, const Pipeline& pipeline, Ability ability,
                         std::initializer_list<const char*> options);

// Returns a session that prints its messages to standard error, and that an interrupt cancels. If `num_jobs` is 0, the
// session uses one thread per processor (CPU_COUNT). `live` is the value of --live, or "". Throws Failure if
// Session::start_live_pipeline() fails.
Session make_terminal_session(unsigned num_jobs, const std::string& live = "");
// Returns a session for a command that compiles. Prints the ignored_variables() as notes.
Session make_terminal_session(CompileOverrides overrides, unsigned num_jobs = 1);
// If a recording of schedules lies beside the recording of kernels that `input` names, prints a note: the kernels were
// only compared with their ASTs, and `command` can check the schedules that made the ASTs.
void note_unchecked_schedules(const Session& session, const std::string& input, std::string_view command);

// If BEAM=N with N >= 1 is set (by --set or the environment), makes later compilations use the opts that `tgc beam`
// found. Warns if these opts cannot be read. Returns `over` without the variables of the search that are not also
// settings of the pipeline. If a variable of the search has a wrong value, warns and returns `over`.
CompileOverrides install_beam_opts(CompileOverrides over);

}  // namespace tgc
