// Tests bisect on recordings of tinygrad 0.14.0 with one fault each. For each record, recorded_faults.tsv says
// which code was replaced by what, and which rule ("FILE:LINE") or "renderer" is the culprit.
#include <doctest/doctest.h>

#include <fstream>
#include <map>

#include "lib/bisect/recorded.h"
#include "lib/driver/source.h"
#include "lib/run/repro_bundle.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::map<std::string, std::string> culprits() {
  std::map<std::string, std::string> out;
  std::ifstream file(test_path("recorded_faults.tsv"));
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    out[line.substr(0, first)] = line.substr(first + 1, second - first - 1);
  }
  return out;
}

std::vector<BisectReport> reports(const std::string& file) {
  Session session;
  session.overrides.imports_kernels = true;
  RunOptions options;
  options.input.name = file;
  GraphSource source = std::move(GraphSource::open(session, file).value_or_throw());
  std::vector<BisectReport> out;
  while (auto in = std::move(source.next_graph().value_or_throw())) out.push_back(bisect(session, *in, options));
  return out;
}

}  // namespace

TEST_CASE("bisect names the wrong rule of another release by file and line") {
  const std::map<std::string, std::string> expected = culprits();
  const std::vector<BisectReport> all = reports(test_path("recorded_faults.jsonl.gz"));
  REQUIRE(all.size() == expected.size());
  for (const BisectReport& report : all) {
    INFO(report.kernel, ": ", report.error);
    const std::string& culprit = expected.at(report.kernel);
    CHECK(report.pipeline_kind == "recorded");
    if (culprit == "renderer") {
      CHECK(report.verdict.kind == Verdict::Kind::Renderer);
      continue;
    }
    CHECK(report.verdict.kind == Verdict::Kind::Rewrite);
    CHECK(report.verdict.location == culprit);
    CHECK(report.verdict.tinygrad_location == culprit);
    CHECK(report.verdict.is_confirmed);
  }
}

TEST_CASE("the arrays that show a wrong rule of another release show it alone, too") {
  const std::map<std::string, std::string> expected = culprits();
  Session session;
  session.overrides.imports_kernels = true;
  GraphSource source = std::move(GraphSource::open(session, test_path("recorded_faults.jsonl.gz")).value_or_throw());
  size_t found = 0;
  while (auto in = std::move(source.next_graph().value_or_throw())) {
    const std::string& culprit = expected.at(in->info.name);
    if (culprit == "renderer") continue;
    INFO(in->info.name);
    BisectReport report;
    FailingInputs failing;
    CHECK(bisect_recorded(session, *in, {}, report, {.should_skip_source = true}, &failing).location == culprit);
    auto bundle = std::make_shared<Repro>();
    bundle->inputs = arrays_to_bundle(failing.inputs), bundle->variables = failing.variables;
    in->read_report.repro = std::move(bundle);
    CHECK(bisect_recorded(session, *in, options_with_bundle({}, *in), report).location == culprit);
    found++;
  }
  CHECK(found > 10);
}

}  // namespace tgc
