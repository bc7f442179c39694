// Reports of tgc's commands for CI services: JUnit XML, SARIF 2.1.0, and annotations of GitHub Actions (`tgc help ci`
// lists the commands).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

enum class CiVerdict : uint8_t { Passed, Failed, Error, Skipped };

// One test of a report, such as a record or a finding of lint.
struct CiCase {
  CiVerdict verdict = CiVerdict::Passed;
  std::string name;          // name of the test, such as "add.0 (CPU:CLANG)"
  std::string rule = {};     // kind of the failure, such as "stage-differs"; names a CiRule of the report
  std::string message = {};  // one line; empty if passed
  std::string details = {};  // more about the failure, such as the difference; may be empty
  std::string file = {};     // the file to annotate: a source file, or the recording; may be empty
  uint32_t line = 0;         // 1-based line in `file`; 0 if unknown
};

// A kind of failure, for the rule list of SARIF.
struct CiRule {
  std::string_view name, help_text;
};

class CiReport {
 public:
  // `command` is the name of the tgc command.
  explicit CiReport(std::string command, std::span<const CiRule> rules = {})
      : command_(std::move(command)), rules_(rules.begin(), rules.end()) {}

  void add_case(CiCase test) { cases_.push_back(std::move(test)); }
  const std::vector<CiCase>& cases() const { return cases_; }
  size_t num_with_verdict(CiVerdict verdict) const;

  std::string junit_xml() const;          // one test suite, with every case
  std::string sarif_json() const;         // one run, with a result for each case whose verdict is Failed or Error
  std::string workflow_commands() const;  // a workflow command "::error file=...::..." for each failed case or error

 private:
  std::string command_;
  std::vector<CiRule> rules_;
  std::vector<CiCase> cases_;
};

// The reports that the user requested.
struct CiOptions {
  std::string junit_path, sarif_path;  // paths of the reports; empty for a report that was not requested

  // Returns true if an option or $TGC_ANNOTATE requests a report.
  bool is_wanted() const { return has_files() || writes_annotations(); }
  bool has_files() const { return !junit_path.empty() || !sarif_path.empty(); }
  static bool writes_annotations();  // true if $TGC_ANNOTATE is set and not empty
  // Returns an error if $TGC_ANNOTATE has an unknown value.
  static Status check_environment();
  // Writes the reports to their files. Returns the annotations, which the command prints; empty unless
  // writes_annotations(). Returns an error if a file cannot be written.
  Result<std::string> write_reports(const CiReport& report) const;
};

std::string ci_help();  // the text of `tgc help ci`

// Returns the file and the line of a text that begins with both, such as "model.py:12 in f". Returns an empty file and
// 0 if the text does not contain ".py:" and a number.
std::pair<std::string, uint32_t> file_and_line(std::string_view place);

}  // namespace tgc
