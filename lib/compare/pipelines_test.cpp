#include <doctest/doctest.h>

#include "lib/compare/stage_list.h"
#include "lib/compilation/stage_selection.h"
#include "lib/driver/source.h"
#include "lib/records/golden.h"
#include "lib/support/testing.h"
#include "lib/text/formats.h"
#include "lib/trace/rewrite_counts.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"

namespace tgc {
namespace {

std::string kernels() { return test_path("import/kernels.jsonl.gz"); }
std::string rewrites() { return test_path("import/rewrites.jsonl.gz"); }

std::unique_ptr<Pipeline> pipeline(const std::string& spec) {
  static const Session session;
  auto source = GraphSource::open(session, spec);
  REQUIRE(source.ok());
  source->accept_runtime_kernels();
  auto in = source->next_graph();
  REQUIRE_MESSAGE((in.ok() && *in), spec);
  return std::move(session.pipeline(std::move(**in)).value_or_throw());
}

// Returns the names of the stages that `list` selects, or the error.
std::string selected(const std::string& list, const std::string& record) {
  auto parsed = parse_golden_record({record, 1}, "test");
  REQUIRE(parsed.ok());
  const RecordedStageTexts stages(*parsed);
  StageSelection selection(list);
  auto chosen = selection.select_recorded_stages(stages);
  if (!chosen) return chosen.diag().message;
  if (auto status = selection.check_words_matched(); !status) return status.diag().text();
  std::string out;
  for (size_t i = 0; i < stages.size(); i++)
    if ((*chosen)[i]) out += (out.empty() ? "" : ",") + stages[i].name;
  return out;
}

}  // namespace

TEST_CASE("recorded stages are selected by name, slug, alias, span and word") {
  const std::string kernel =
      R"({"id":"k","target":"CPU","ast":"A","stages":[{"name":"postopt symbolic","ir":"B"},)"
      R"({"name":"*** expand / add","same":true},{"name":"unprintable","ir":null},{"name":"last","ir":"C"}],)"
      R"("kernels":[{"ast":"K0"},{"ast":"K1"}],"linear":"L"})";
  CHECK(selected("postopt", kernel) == "postopt symbolic");
  CHECK(selected("Postopt-Symbolic,linear", kernel) == "postopt symbolic,linear");
  CHECK(selected("expand-add..last", kernel) == "*** expand / add,last");
  CHECK(selected("changed", kernel) == "postopt symbolic,last");
  CHECK(selected("kernels", kernel) == "kernel 0,kernel 1");
  CHECK(selected("kernel-1", kernel) == "kernel 1");
  CHECK(selected("all", kernel) == "ast,postopt symbolic,*** expand / add,last,kernel 0,kernel 1,linear");
  CHECK(selected("lost", kernel) ==
        "unknown stage 'lost', expected last, ast, or a stage that `tgc stages RECORDING` lists");
  CHECK(selected("unprintable", kernel) == "tinygrad could not print the graph after 'unprintable'");
  CHECK(selected("last..ast", kernel) == "the span 'last..ast' runs backwards");
}

TEST_CASE("the stages of a recording are listed in order, with the number of records that have each") {
  auto list = list_recorded_stages({}, kernels());
  REQUIRE(list.ok());
  CHECK(list->num_records == 5);
  CHECK(list->text().starts_with("tinygrad 0.14.0, 5 records\n"));
  auto of = [&](std::string_view name) {
    auto found = std::ranges::find(list->stages, name, &ListedStage::name);
    REQUIRE(found != list->stages.end());
    return *found;
  };
  CHECK(of("expander").num_records == 5);
  CHECK(of("instruction selection").num_records == 1);
  CHECK(of("load collapse").num_changed.value_or(9) == 0);
  CHECK_FALSE(of("source").num_changed);
  CHECK(list->stages.back().name == "program");
  auto tensor = list_recorded_stages({}, test_path("import/tensor.jsonl.gz"));
  REQUIRE(tensor.ok());
  CHECK(tensor->json().find("\"name\":\"kernels\"") != std::string::npos);
  CHECK(list_recorded_stages({}, kernels() + "#none").diag().message == "no record 'none'");
}

TEST_CASE("every dumped graph and list of a recording is an input again, with its release and stage") {
  for (const std::string& spec : {kernels() + "#int_and_long.0", kernels() + "#nn_randint.0", rewrites(),
                                  test_path("import/tensor.jsonl.gz") + "#shard_sum0.0"}) {
    auto in = pipeline(spec);
    for (std::optional<GraphFormat> format : {std::optional<GraphFormat>(), std::optional(GraphFormat::Json)}) {
      StageSelection all("all");
      auto texts = in->texts(all, {.is_self_describing = true, .format = format});
      REQUIRE_MESSAGE(texts.ok(), texts.diag().text());
      CHECK(texts->size() > 10);
      for (const DumpText& t : *texts) {
        if (t.row->name == "source" || t.row->name == "program") continue;
        CAPTURE(t.row->name);
        Graph graph;
        GraphReadReport report{.accepts_malformed_graphs = true};
        auto read = read_graph(graph, detect_input_kind(t.text), t.text, "dumped", &report);
        REQUIRE_MESSAGE(read.ok(), read.diag().text());
        CHECK(release_of(read->info.producer) == Release::v0_14);
        CHECK((read->info.stage == t.row->name || read->info.stage == "ast"));
      }
    }
  }
}

TEST_CASE("recorded rewrites are traced, written to a trace file and read again, without what is unknown") {
  auto in = pipeline(rewrites());
  auto printed = [](const std::function<void(TraceConsumer&)>& feed) {
    std::string out;
    TracePrinter printer({}, {}, [&](std::string_view text) { out += text; });
    feed(printer);
    return out;
  };
  StageSelection every(""), one("simplify-ranges");
  const std::string all = printed([&](TraceConsumer& to) { REQUIRE(in->trace_stages(to, every).ok()); });
  CHECK(all.find("--- simplify ranges\nuop/") != std::string::npos);
  CHECK(all.find("0 rules") == std::string::npos);
  CHECK(all.find(" us") == std::string::npos);
  const std::string stage = printed([&](TraceConsumer& to) { REQUIRE(in->trace_stages(to, one).ok()); });
  CHECK(stage.find("--- early symbolic") == std::string::npos);
  CHECK(all.find(stage.substr(stage.find("---"))) != std::string::npos);
  const std::string file = "/tmp/tgc_recorded_trace_test." + std::to_string(getpid()) + ".gz";
  auto writer = TraceWriter::create(file);
  REQUIRE(writer.ok());
  REQUIRE(in->trace_stages(**writer, every).ok());
  REQUIRE((*writer)->close().ok());
  CHECK(printed([&](TraceConsumer& to) { REQUIRE(read_trace(file, to).ok()); }) == all);
  std::remove(file.c_str());
  CHECK(pipeline(kernels())->trace_stages(**writer, every).diag().message ==
        "the recorded pipeline of tinygrad 0.14.0 has no rewrites");
}

TEST_CASE("recorded matches are counted by rule, op and stage; a recording without rewrites is said to have none") {
  RewriteCounts counts("", {}), ranges("simplify-ranges", {Op::RANGE}), none("", {});
  for (RewriteCounts* c : {&counts, &ranges}) REQUIRE(c->add_pipeline(*pipeline(rewrites())).ok());
  CHECK(counts.check_words_matched().ok());
  CHECK(counts.rules_text().find("uop/symbolic.py:") != std::string::npos);
  CHECK(ranges.rules_json().find("\"stages\":{\"simplify ranges\":") != std::string::npos);
  CHECK(ranges.rules_json().find("\"MUL\"") == std::string::npos);
  CHECK(ranges.text().find("RANGE") != std::string::npos);
  REQUIRE(none.add_pipeline(*pipeline(kernels())).ok());
  CHECK(none.json().find("matches") == std::string::npos);
  CHECK(none.check_words_matched().ok());
}

}  // namespace tgc
