// Every rule is hit by a golden or by a test. The goldens of testdata/ pass all stages here, in this process; when all tests are done, a
// listener prints the rules that nothing hit, but for those that testdata/rules_never_hit.txt allows. scripts/test looks for its line.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "lib/rewrite/hits.h"
#include "lib/support/testing.h"
#include "lib/text/golden.h"
#include "lib/text/pyrender.h"
#include "passes/pipeline.h"
#include "passes/program.h"
#include "renderers/renderer.h"

using namespace tgc;

namespace {

// Through all stages, to the source; false when it is refused.
bool passes_all_stages(const GoldenRecord& record, const Settings& settings) {
  Graph graph(settings);
  auto ast = read_pyrender(graph, record.ast, record.id);
  if (!ast) return false;
  if (record.target.empty()) {
    TensorJob job(graph);
    return make_schedule(job, *ast).ok();
  }
  auto target = parse_target(record.target, settings);
  if (!target) return false;
  KernelJob job{graph, *target};
  auto sink = run_kernel_stages(job, begin_kernel(job, *ast));
  if (!sink) return false;
  auto list = linear_list(job, *sink);
  return list && program_info(*list) && (render_source(*target, *list) || record.source_error);
}

bool is_of_a_test(const Rule& rule) { return rule.file.ends_with("_test.cpp"); }

struct HitsListener : doctest::IReporter {
  explicit HitsListener(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    if (stats.numTestCasesPassingFilters < stats.numTestCases) return;  // some were left out, and what they hit
    std::set<std::string> allowed;
    for (const std::string& line : test_lines("rules_never_hit.txt"))
      if (auto words = words_of(line); !words.empty() && words[0][0] != '#') allowed.insert(words[0] + " " + words[1]);
    size_t rules = 0, missing = 0;
    std::set<std::string> needless = allowed;
    for (const Rule& rule : rules_tried()) {
      if (is_of_a_test(rule)) continue;
      rules++;
      if (was_hit(rule)) continue;
      std::string key = std::string(rule.name) + " " + std::string(short_file(rule));
      needless.erase(key);
      if (allowed.contains(key)) continue;
      missing++;
      std::printf("never hit: %s\n", describe(rule).c_str());
    }
    for (const std::string& key : needless) std::printf("hit, and needs no line in rules_never_hit.txt: %s\n", key.c_str());
    std::printf("%zu rules, %zu never hit and not allowed to, %zu needlessly allowed to\n", rules, missing, needless.size());
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
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

TEST_CASE("the goldens of testdata pass all stages") {
  size_t records = 0;
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
      CHECK(passes_all_stages(**record, settings) != (*record)->error.has_value());
    }
  }
  CHECK(records > 100);
}
