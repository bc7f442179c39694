#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

enum class CiVerdict : uint8_t { Passed, Failed, Error, Skipped };

struct CiCase {
  CiVerdict verdict = CiVerdict::Passed;
  std::string name;
  std::string rule = {};     // a kind such as "stage-differs"; the name of a CiRule if the report has rules
  std::string message = {};
  std::string details_text = {};
  std::string file = {};     // the file to annotate: a source file, or the recording
  uint32_t line = 0;         // 1-based; 0 if unknown
};

struct CiRule {
  std::string_view name, help_text;
};

class CiReport {
 public:
  explicit CiReport(std::string command, std::span<const CiRule> rules = {})
      : tgc_command_(std::move(command)), ci_rules_(rules.begin(), rules.end()) {}

  void add_case(CiCase test) { ci_cases_.push_back(std::move(test)); }
  const std::vector<CiCase>& ci_cases() const { return ci_cases_; }
  size_t num_with_verdict(CiVerdict verdict) const;

  std::string junit_xml() const;
  std::string sarif_json() const;         // one run, with a result for each Failed or Error
  std::string workflow_commands() const;  // "::error file=...::..." for each Failed or Error

 private:
  std::string tgc_command_;
  std::vector<CiRule> ci_rules_;
  std::vector<CiCase> ci_cases_;
};

struct CiOptions {
  std::string junit_path, sarif_path;

  // Returns true if an option or $TGC_ANNOTATE requests a report.
  bool requests_reports() const { return has_report_files() || should_write_annotations(); }
  bool has_report_files() const { return !junit_path.empty() || !sarif_path.empty(); }
  static bool should_write_annotations();
  // Fails if $TGC_ANNOTATE has an unknown value.
  static Status check_environment();
  // Writes the requested files. Returns workflow_commands() if $TGC_ANNOTATE requests them, else "". Fails if a file
  // cannot be written.
  Result<std::string> write_reports(const CiReport& report) const;
};

std::string ci_help_text();

// Returns the file and the line at the beginning of a text such as "model.py:12 in f". Returns an empty file and 0 if
// the text has no ".py:", or if no number follows the first one.
std::pair<std::string, uint32_t> parse_file_and_line(std::string_view place);

}  // namespace tgc
