#include "lib/diff/run_diff.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/compilation/compilation.h"
#include "lib/records/read_graph.h"
#include "lib/support/testing.h"
#include "lib/text/formats.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

GoldenRecord first_record(GoldenHeader& header) {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  header = reader->header();
  auto record = reader->next_record();
  REQUIRE((record.ok() && *record));
  return std::move(**record);
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  text.replace(at, from.size(), to);
}

// Runs tgc on the kernel of the record. Graphs are JSON, which omits no facts.
CompileRun complete_run(const GoldenRecord& record, const GoldenHeader& header) {
  CompileRun run{record.id, record.target, "ours", settings_of(header, record), {}};
  Settings settings;
  for (auto& [key, value] : run.settings) REQUIRE(settings.set_value(key, value).ok());
  auto in = load_graph_text(settings, InputKind::Pyrender, record.ast, record.id);
  REQUIRE(in.ok());
  auto begun = Compilation::begin(std::move(*in), {.target = record.target});
  REQUIRE(begun.ok());
  Compilation& c = *begun;
  for (const StageRow* row = c.next_row(); row && row->kernel; row = c.next_row()) {
    if (!c.run_step()) break;
    GraphInfo info{
        .name = record.id, .stage = std::string(row->name), .target = record.target, .settings = run.settings};
    run.texts.push_back(
        {std::string(row->name), write_graph(GraphFormat::Json, c.current_graph(), info).value_or_throw(), true});
  }
  return run;
}

TEST_CASE("diff of runs: facts that pyrender omits are no difference, and other facts are") {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  size_t compared = 0, lossy = 0;
  for (;;) {
    auto record = reader->next_record();
    REQUIRE(record.ok());
    if (!*record) break;
    if ((*record)->error) continue;
    CompileRun theirs = run_of_record(**record, reader->header(), "theirs"),
               ours = complete_run(**record, reader->header());
    auto diff = diff_runs(theirs, ours);
    INFO((*record)->id);
    REQUIRE(diff.ok());
    REQUIRE_MESSAGE(diff->is_same, diff_as_text(*diff));
    compared += diff->num_compared;
    for (StageText& t : ours.texts)
      if (size_t at = t.text.find("\"op\":\"REDUCE\",\"dtype\":\"dtypes.float");
          at != t.text.npos && t.stage == "expander") {
        lossy++;
        size_t op = t.text.find("Ops.", at) + 4;
        t.text.replace(op, 3, t.text.substr(op, 3) == "MUL" ? "ADD" : "MUL");
        CHECK(!diff_runs(theirs, ours)->is_same);
      }
  }
  CHECK(compared > 1500);
  CHECK(lossy > 5);
}

TEST_CASE("diff of runs: the first stage that differs is reported with the rules of tgc that made it") {
  GoldenHeader header;
  GoldenRecord record = first_record(header);
  CompileRun a = run_of_record(record, header, "a"), b = a;
  auto diff = diff_runs(a, b);
  REQUIRE(diff.ok());
  CHECK(diff->is_same);
  CHECK(diff->num_compared == a.texts.size());
  size_t changed = 0;
  for (size_t i = a.texts.size(); i-- > 0;)
    if (b.texts[i].stage == "lower all index dtypes")
      replace(b.texts[i].text, "dtypes.int", "dtypes.long"), changed = i;
  REQUIRE(changed);
  diff = diff_runs(a, b);
  REQUIRE(diff.ok());
  CHECK(!diff->is_same);
  CHECK(diff->first_different_stage == "lower all index dtypes");
  CHECK(diff->last_same_stage == a.texts[changed - 1].stage);
  CHECK(diff->reproduced_run == "A");
  REQUIRE(!diff->blamed_rewrites.empty());
  CHECK(diff->blamed_rewrites[0].file.starts_with("passes/"));
  CHECK(diff_as_text(*diff).find("the first stage that differs is 'lower all index dtypes'") == 0);
  CHECK(diff_as_json(*diff, a).find(R"("stage":"lower all index dtypes")") != std::string::npos);
}

TEST_CASE("diff of runs: the rule of an inner rewrite is named with that rewrite") {
  auto reader = GoldenReader::open(test_path("golden/tensor.jsonl.gz"));
  REQUIRE(reader.ok());
  for (;;) {
    auto record = reader->next_record();
    REQUIRE(record.ok());
    REQUIRE(*record);
    if ((*record)->id != "convT") continue;
    CompileRun a = run_of_record(**record, reader->header(), "a"), b = a;
    for (StageText& t : b.texts)  // a constant that the rules of a reshape created
      if (t.stage == "apply rangeify") replace(t.text, "UOp.const(dtypes.index, -10)", "UOp.const(dtypes.index, -11)");
    auto diff = diff_runs(a, b);
    REQUIRE(diff.ok());
    CHECK(diff->first_different_stage == "apply rangeify");
    REQUIRE(!diff->blamed_rewrites.empty());
    const BlamedRewrite& blame = diff->blamed_rewrites[0];
    CHECK(blame.rule == "add-const-last");
    CHECK(blame.file == "passes/symbolic/symbolic.cpp");
    CHECK(blame.rewrite.starts_with("apply rangeify > "));
    CHECK(diff_as_text(*diff).find("in apply rangeify > ") != std::string::npos);
    CHECK(diff_as_json(*diff, a).find(R"("rewrite":"apply rangeify > )") != std::string::npos);
    break;
  }
}

TEST_CASE("diff of runs: sources are compared line by line") {
  GoldenHeader header;
  CompileRun a = run_of_record(first_record(header), header, "a"), b = a;
  REQUIRE(a.texts.back().stage == "program");
  b.texts.back().text += "more: 1\n";
  auto diff = diff_runs(a, b);
  REQUIRE(diff.ok());
  CHECK(diff->first_different_stage == "program");
  CHECK(diff->line_difference.find("more: 1") != std::string::npos);
  b.texts = {{"another stage", "", true}};
  CHECK(!diff_runs(a, b).ok());
}

TEST_CASE("diff of runs: a folder that tgc dump wrote is read") {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("tgc_run_diff." + std::to_string(getpid()));
  fs::create_directories(folder);
  CHECK(!runs_of_folder(folder.string()).ok());
  std::ofstream(folder / "my.kernel.00.ast.uop") << "ast = UOp.const(dtypes.index, 3)\n";
  std::ofstream(folder / "my.kernel.12.add-gpudims.uop") << "ast = UOp.const(dtypes.index, 4)\n";
  auto runs = runs_of_folder(folder.string());
  REQUIRE(runs.ok());
  REQUIRE(runs->size() == 1);
  CHECK((*runs)[0].id == "my.kernel");
  CHECK((*runs)[0].texts[1].stage == "add gpudims");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tgc
