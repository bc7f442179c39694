// Checks that goldens or tests apply every rule, make every rule that may decline (is_guarded) decline, and that every
// rule has a RuleTest. This file compiles the goldens of testdata/ in this process. After all tests, a listener prints
// the rules that fail a check and are not in testdata/rules_never_{hit,declined,checked}.txt. scripts/test reads the
// listener's three summary lines.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "lib/compilation/compilation.h"
#include "lib/rewrite/hits.h"
#include "lib/support/testing.h"
#include "lib/text/golden.h"

using namespace tgc;

namespace {

// Compiles the record's graph to its source and returns the error if a stage refuses the graph.
std::optional<std::string> refusal(const GoldenRecord& record, const Settings& settings) {
  auto error_of = [](const auto& result) { return result ? std::nullopt : std::optional(result.diag().text()); };
  auto in = load_text(settings, InputKind::Pyrender, record.ast, record.id);
  if (!in) return error_of(in);
  in->is_tensor_graph = record.target.empty();
  auto c = Compilation::begin(std::move(*in), {.target = record.target});
  if (!c) return error_of(c);
  if (c->is_tensor_graph()) return error_of(c->schedule());
  if (auto error = error_of(c->list())) return error;
  if (auto error = error_of(c->output(row_of(OutputKind::LaunchFacts)))) return error;
  return record.source_error ? std::nullopt : error_of(c->source());
}

// Returns the stage that refused the record's graph in tinygrad: the one after its last recorded stage.
std::string_view refusing_stage(const GoldenRecord& record) {
  auto stages = kernel_stages();
  auto last = std::ranges::find(stages, std::string_view(record.stages.back().name), &Stage::name);
  return std::next(last)->name;
}

bool is_of_a_test(const Rule& rule) { return rule.file.ends_with("_test.cpp"); }

// A rule as it is written in the source. Several rule sets may have copies of this rule for other dtypes or ops; if one
// copy is hit, declines or is checked, the rule counts as hit, declined or checked.
struct Written {
  Rule rule;
  bool hit = false, declined = false, checked = false;
};
std::vector<Written> rules_as_written() {
  std::map<std::string, Written> out;
  for (const Rule& rule : rules_tried()) {
    if (is_of_a_test(rule)) continue;
    Written& written = out.try_emplace(describe(rule), Written{rule}).first->second;
    written.hit |= was_hit(rule);
    written.declined |= has_declined(rule);
    written.checked |= was_checked(rule);
  }
  std::vector<Written> rules;
  for (auto& [name, written] : out) rules.push_back(written);
  return rules;
}

// Prints the rules for which `happened` is false and that `file` does not list, then the lines of `file` for rules for
// which `happened` is true, then one line with the counts.
void print_left_out(const std::vector<Written>& rules, const char* what, const std::string& file,
                    bool Written::* happened) {
  std::set<std::string> allowed;
  for (const std::string& line : test_lines(file))
    if (auto words = words_of(line); !words.empty() && words[0][0] != '#') allowed.insert(words[0] + " " + words[1]);
  size_t missing = 0;
  std::set<std::string> needless = allowed;
  for (const Written& written : rules) {
    if (written.*happened) continue;
    const Rule& rule = written.rule;
    std::string key = std::string(rule.name) + " " + std::string(short_file(rule));
    needless.erase(key);
    if (allowed.contains(key)) continue;
    missing++;
    std::printf("never %s: %s\n", what, describe(rule).c_str());
  }
  for (const std::string& key : needless)
    std::printf("%s, and needs no line in %s: %s\n", what, file.c_str(), key.c_str());
  std::printf("%zu rules, %zu never %s and not allowed to, %zu needlessly allowed to\n", rules.size(), missing, what,
              needless.size());
}

struct HitsListener : doctest::IReporter {
  explicit HitsListener(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    if (stats.numTestCasesPassingFilters < stats.numTestCases) return;  // a filter skipped tests, so hits are missing
    std::vector<Written> rules = rules_as_written();
    print_left_out(rules, "hit", "rules_never_hit.txt", &Written::hit);
    print_left_out(rules, "checked", "rules_never_checked.txt", &Written::checked);
    std::erase_if(rules, [](const Written& written) { return !is_guarded(written.rule); });
    print_left_out(rules, "declined", "rules_never_declined.txt", &Written::declined);
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override { note_from_now_on(); }
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

TEST_CASE(
    "the goldens of testdata pass all stages, but for what tinygrad refuses: the message names the stage, the rule and "
    "the node") {
  size_t records = 0, refused = 0;
  for (auto& entry : std::filesystem::directory_iterator(test_path("golden"))) {
    auto reader = GoldenReader::open(entry.path().string());
    REQUIRE(reader);
    Settings settings;
    for (auto& [key, value] : reader->header().settings) REQUIRE(settings.set(key, value));
    for (;; records++) {
      auto record = reader->next();
      REQUIRE(record);
      if (!*record) break;
      INFO(entry.path() << " " << (*record)->id << " " << (*record)->target);
      auto message = refusal(**record, settings);
      INFO(message.value_or("passes"));
      CHECK(message.has_value() == (*record)->error.has_value());
      if (!message || !(*record)->error) continue;
      refused++;
      std::string stage = "'" + std::string(refusing_stage(**record)) + "'";
      CHECK(message->starts_with("stage " + stage + ": "));
      CHECK(message->find("\n  in stage " + stage + ", rule ") != message->npos);
      CHECK(message->find(", at\n    Ops.") != message->npos);
    }
  }
  CHECK(records > 100);
  CHECK(refused >= 2);
}
