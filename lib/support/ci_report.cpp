#include "lib/support/ci_report.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "lib/support/json_writer.h"
#include "lib/support/version.h"
#include "lib/support/visible.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

std::string escape_xml(std::string_view text) {
  std::string out;
  for (char c : visible_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      case '\r': out += "&#13;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string escape_command(std::string_view text, bool is_property) {
  std::string out;
  for (char c : visible_text(text)) {
    if (c == '%') out += "%25";
    else if (c == '\r') out += "%0D";
    else if (c == '\n') out += "%0A";
    else if (c == ':' && is_property) out += "%3A";
    else if (c == ',' && is_property) out += "%2C";
    else out += c;
  }
  return out;
}

std::string file_uri(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
  std::string out = path.starts_with('/') ? "file://" : "";
  while (path.starts_with("./")) path.remove_prefix(2);
  for (char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain || kPlain.find(c) != kPlain.npos) {
      out += c;
      continue;
    }
    constexpr const char* kHex = "0123456789ABCDEF";
    out.append({'%', kHex[uint8_t(c) >> 4], kHex[uint8_t(c) & 15]});
  }
  return out;
}

bool has_failed(const CiCase& c) { return c.verdict == CiVerdict::Failed || c.verdict == CiVerdict::Error; }

}  // namespace

size_t CiReport::num_with_verdict(CiVerdict verdict) const {
  return size_t(std::ranges::count(ci_cases_, verdict, &CiCase::verdict));
}

std::string CiReport::junit_xml() const {
  const std::string suite = "tgc " + tgc_command_;
  auto attribute = [](std::string_view name, std::string_view value) {
    return " " + std::string(name) + "=\"" + escape_xml(value) + "\"";
  };
  const std::string counts = attribute("name", suite) + attribute("tests", std::to_string(ci_cases_.size())) +
                             attribute("failures", std::to_string(num_with_verdict(CiVerdict::Failed))) +
                             attribute("errors", std::to_string(num_with_verdict(CiVerdict::Error)));
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts + ">\n<testsuite" + counts +
                    attribute("skipped", std::to_string(num_with_verdict(CiVerdict::Skipped))) + ">\n";
  for (const CiCase& c : ci_cases_) {
    out += "<testcase" + attribute("classname", suite) + attribute("name", c.name);
    if (c.verdict == CiVerdict::Passed) {
      out += "/>\n";
      continue;
    }
    const std::string_view kind = c.verdict == CiVerdict::Failed  ? "failure"
                                  : c.verdict == CiVerdict::Error ? "error"
                                                                  : "skipped";
    out.append("><").append(kind);
    out += (c.rule.empty() ? "" : attribute("type", c.rule)) + attribute("message", c.message);
    std::string text = c.file.empty() ? "" : c.file + (c.line ? ":" + std::to_string(c.line) : "") + "\n";
    text += c.details_text;
    out.append(">").append(escape_xml(text)).append("</").append(kind).append("></testcase>\n");
  }
  return out + "</testsuite>\n</testsuites>\n";
}

std::string CiReport::sarif_json() const {
  return json_text([&](JsonWriter& json) {
    auto text = [&](std::string_view key, std::string_view value) {
      json.key(key).object([&] { json.member("text", value); });
    };
    auto run = [&] {
      json.key("tool").object([&] {
        json.key("driver").object([&] {
          json.member("name", "tgc").member("version", tgc_version()).key("rules").array([&] {
            for (const CiRule& r : ci_rules_)
              json.start_line().object([&] { json.member("id", r.name), text("shortDescription", r.help_text); });
          });
        });
      });
      json.member("columnKind", "utf16CodeUnits").key("results").array([&] {
        for (const CiCase& c : ci_cases_) {
          if (!has_failed(c)) continue;
          json.start_line().object([&] {
            json.member("ruleId", c.rule);
            auto rule = std::ranges::find(ci_rules_, c.rule, &CiRule::name);
            if (rule != ci_rules_.end()) json.member("ruleIndex", rule - ci_rules_.begin());
            json.member("level", "error");
            text("message",
                 visible_text(c.name + ": " + c.message + (c.details_text.empty() ? "" : "\n" + c.details_text)));
            if (!c.file.empty())
              json.key("locations").array([&] {
                json.object([&] {
                  json.key("physicalLocation").object([&] {
                    json.key("artifactLocation").object([&] { json.member("uri", file_uri(c.file)); });
                    if (c.line) json.key("region").object([&] { json.member("startLine", c.line); });
                  });
                });
              });
            json.key("partialFingerprints").object([&] {
              json.member("test/v1", tgc_command_ + "/" + visible_text(c.name));
            });
          });
        }
      });
    };
    json.object([&] {
      json.member("$schema", kSchema).member("version", "2.1.0");
      json.key("runs").array([&] { json.object(run); });
    });
  });
}

std::string CiReport::workflow_commands() const {
  std::string out;
  for (const CiCase& c : ci_cases_) {
    if (!has_failed(c)) continue;
    out += "::error ";
    if (!c.file.empty()) out += "file=" + escape_command(c.file, true) + ",";
    if (!c.file.empty() && c.line) out += "line=" + std::to_string(c.line) + ",";
    out += "title=" + escape_command("tgc " + tgc_command_ + ": " + c.rule, true) + "::" +
           escape_command(c.name + ": " + c.message + (c.details_text.empty() ? "" : "\n" + c.details_text), false) +
           "\n";
  }
  return out;
}

bool CiOptions::should_write_annotations() {
  const char* value = std::getenv("TGC_ANNOTATE");
  return value && *value;
}

Status CiOptions::check_environment() {
  const char* value = std::getenv("TGC_ANNOTATE");
  if (!should_write_annotations() || std::string_view(value) == "github") return Unit{};
  return Diag{.message = "TGC_ANNOTATE is '" + std::string(value) + "'", .expected = "github, or no such variable"};
}

Result<std::string> CiOptions::write_reports(const CiReport& report) const {
  if (!junit_path.empty())
    if (auto status = write_file(junit_path, report.junit_xml()); !status) return status.diag();
  if (!sarif_path.empty())
    if (auto status = write_file(sarif_path, report.sarif_json()); !status) return status.diag();
  return should_write_annotations() ? report.workflow_commands() : std::string();
}

std::string ci_help_text() {
  return R"(`tgc check`, conform, lint and diff write reports for CI services, beside what they print:
  --junit=FILE           JUnit XML: a test case for each record, answer, finding or kernel
  --sarif=FILE           SARIF 2.1.0: a result for each failure, at the line of the program, the rule or the record
  TGC_ANNOTATE=github    print `::error file=F,line=N::TEXT` for each failure, which GitHub shows beside the line;
                         on standard output, with --json on standard error
The exit codes do not change.
)";
}

std::pair<std::string, uint32_t> parse_file_and_line(std::string_view place) {
  const size_t colon = place.find(".py:");
  if (colon == place.npos) return {};
  const size_t at = colon + 4;
  uint32_t line = 0;
  auto [end, error] = std::from_chars(place.data() + at, place.data() + place.size(), line);
  if (error != std::errc() || end == place.data() + at) return {};
  return {std::string(place.substr(0, at - 1)), line};
}

}  // namespace tgc
