// Writes which rules the tests applied, made decline and checked (RuleTest) to the file that TGC_RULE_HITS names, for
// scripts/ci/rule_hits. A line has NAME FILE LINE and those of the words guarded, hit, declined and checked that are
// true of the rule.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "lib/rewrite/hits.h"

using namespace tgc;

namespace {

void write_hits(const char* file) {
  std::ofstream out(file);
  for (const Rule& rule : matcher_rules()) {
    if (rule.file.ends_with("_test.cpp")) continue;
    out << rule.name << ' ' << short_file_name(rule) << ' ' << rule.line << (is_guarded(rule) ? " guarded" : "")
        << (was_rule_hit(rule) ? " hit" : "") << (has_declined(rule) ? " declined" : "")
        << (was_rule_checked(rule) ? " checked" : "") << '\n';
  }
}

struct HitsListener : doctest::IReporter {
  explicit HitsListener(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats&) override {
    if (const char* file = std::getenv("TGC_RULE_HITS")) write_hits(file);
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override { record_rule_events(); }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("rule-hits", 1, HitsListener);

}  // namespace
