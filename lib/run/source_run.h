// Runs a kernel that was written by hand, for `tgc run FILE --language=L`. The user gives the launch size, and the
// sizes of the arguments where no array of --inputs gives them. The source states the types that the user does not.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "lib/compile/hand_written.h"
#include "lib/run/run_options.h"

namespace tgc {

struct SourceRunOptions {
  std::string language;            // as default_target_of() takes it
  std::string target;              // --target; empty: the default target of the language
  std::string kernel;              // name of the kernel's function; empty: the only kernel of the file
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<std::string> size_texts;  // NAME=N or NAME=TYPE[N]: a pointer to N elements, or a number with the value N
};

// Parses up to three sizes along x, y and z, such as "64,2"; those that are not given are 1. Fails for more than
// three sizes, and if one is 0 or no number.
Result<std::array<uint32_t, 3>> parse_launch_size(const std::string& text);

struct SourceRunReport {
  std::string kernel, device;
  Arrays result_arrays;                 // the arrays of all pointers that are not const, with the parameters' names
  std::vector<Comparison> comparisons;  // each array of --expect compared with the result; empty without --expect
  std::vector<double> run_seconds;      // the times of the timed runs (--bench)
  bool has_passed() const;
  std::string text() const;
  std::string json() const;
};

// Compiles and runs the kernel. `options` has the arrays (--inputs, by the parameters' names; the others are drawn with
// --seed), --expect with its tolerance, --save, --bench and --timeout. Fails, among other reasons, if the source does
// not compile, if a parameter is neither a pointer nor a 32-bit integer, if a number precedes a pointer, or if a size
// is missing.
Result<SourceRunReport> run_source(const Session& session, const std::string& file, const SourceRunOptions& source,
                                   const RunOptions& options);

// A hand-written file, ready to be compiled for a target.
struct SourceJob {
  std::string target;
  CompileJob job;
};
// Returns `diag`, a compiler's error about the text of self_contained_source(), with the line in the file that the user
// wrote, and the text of that line, in place of those of the compiled text.
Diag at_hand_written_line(Diag diag, const std::string& file);
// Returns the compile job of a hand-written file. `target` as in SourceRunOptions.
Result<SourceJob> source_job(const Session& session, const std::string& file, const std::string& language,
                              const std::string& target);

}  // namespace tgc
