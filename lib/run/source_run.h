// Runs a kernel that was written by hand, for `tgc run FILE --language=L`.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "lib/compile/hand_written.h"
#include "lib/run/run_options.h"

namespace tgc {

struct SourceRunOptions {
  std::string language;            // one of language_names()
  std::string target;              // empty: the default target of the language
  std::string kernel;              // empty: the only kernel of the file
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<std::string> size_texts;  // NAME=N or NAME=TYPE[N]: a pointer to N elements, or a number with the value N
};

// Parses up to three sizes along x, y and z, such as "64,2"; the others are 1. Fails for more than three sizes, and if
// one is 0 or no number.
Result<std::array<uint32_t, 3>> parse_launch_size(const std::string& text);

struct SourceRunReport {
  std::string kernel, device;
  Arrays result_arrays;                 // the arrays of all pointers that are not const
  std::vector<Comparison> comparisons;
  std::vector<double> run_seconds;      // times of the runs of --bench
  bool has_passed() const;
  std::string text() const;
  std::string json() const;
};

// Compiles and runs the kernel. `options` has the arrays (--inputs, by the parameters' names; the others are random)
// and the other options of a run. Fails, for example, if the source does not compile, if a parameter is neither a
// pointer nor a 32-bit integer, if a number precedes a pointer, or if a size is missing.
Result<SourceRunReport> run_source(const Session& session, const std::string& file, const SourceRunOptions& source,
                                   const RunOptions& options);

struct SourceJob {
  std::string target;
  CompileJob job;
};
// Makes an error about the compiled text name the line of `file`, and quotes that line.
Diag point_to_source_line(Diag diag, const std::string& file);
// Returns the compile job of a hand-written file. `target` is as in SourceRunOptions.
Result<SourceJob> make_source_job(const Session& session, const std::string& file, const std::string& language,
                                  const std::string& target);

}  // namespace tgc
