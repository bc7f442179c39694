#include "lib/support/ci_report.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace tgc;

namespace {

CiReport sample() {
  static constexpr CiRule kRules[] = {{"other", "Another rule."}, {"stage-differs", "A stage differs."}};
  CiReport report("check", kRules);
  report.add_case({.name = "add.0 (CPU)"});
  report.add_case({.verdict = CiVerdict::Failed, .name = "a<b>&\"c\"\x01", .rule = "stage-differs",
                   .message = "100% differs", .details_text = "- c1\n+ c2\n", .file = "a folder/x:y,z.py", .line = 7});
  report.add_case({.verdict = CiVerdict::Error, .name = "bad", .rule = "stage-fails", .message = "fails"});
  report.add_case({.verdict = CiVerdict::Skipped, .name = "left out", .message = "cannot be replayed"});
  return report;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("ci report: JUnit has every case, its counts and no character that XML forbids") {
  const std::string xml = sample().junit_xml();
  CHECK(has(xml, "<testsuite name=\"tgc check\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">"));
  CHECK(has(xml, "name=\"add.0 (CPU)\"/>"));
  CHECK(has(xml, "name=\"a&lt;b&gt;&amp;&quot;c&quot;\\x01\"><failure type=\"stage-differs\" "
            "message=\"100% differs\">"));
  CHECK(has(xml, "a folder/x:y,z.py:7&#10;- c1&#10;+ c2&#10;</failure>"));
  CHECK(has(xml, "<skipped message=\"cannot be replayed\"></skipped>"));
  CHECK(xml.find('\x01') == xml.npos);
}

TEST_CASE("ci report: SARIF has a result for each failure only, with the rule, the URI and the line") {
  const std::string json = sample().sarif_json();
  CHECK(has(json, R"("ruleId":"stage-differs","ruleIndex":1,"level":"error")"));
  CHECK(has(json, R"("uri":"a%20folder/x%3Ay,z.py"},"region":{"startLine":7})"));
  CHECK(has(json, R"("ruleId":"stage-fails","level":"error")"));
  CHECK_FALSE(has(json, "add.0"));
  CHECK_FALSE(has(json, "left out"));
}

TEST_CASE("ci report: annotations escape what ends a workflow command") {
  CHECK(sample().workflow_commands() ==
        "::error file=a folder/x%3Ay%2Cz.py,line=7,title=tgc check%3A stage-differs::"
        "a<b>&\"c\"\\x01: 100%25 differs%0A- c1%0A+ c2%0A\n"
        "::error title=tgc check%3A stage-fails::bad: fails\n");
}

TEST_CASE("ci report: places") {
  CHECK(parse_file_and_line("uop/symbolic.py:217") == std::pair<std::string, uint32_t>("uop/symbolic.py", 217));
  CHECK(parse_file_and_line("model.py:12::forward") == std::pair<std::string, uint32_t>("model.py", 12));
  CHECK(parse_file_and_line("add-zero").first.empty());
  CHECK(parse_file_and_line("a.py:").first.empty());
}

TEST_CASE("ci report: an unknown value of TGC_ANNOTATE is an error") {
  ::setenv("TGC_ANNOTATE", "gitlab", 1);
  CHECK_FALSE(CiOptions::check_environment().ok());
  ::setenv("TGC_ANNOTATE", "github", 1);
  CHECK(CiOptions::check_environment().ok());
  CHECK(CiOptions{}.requests_reports());
  ::unsetenv("TGC_ANNOTATE");
  CHECK_FALSE(CiOptions{}.requests_reports());
}
