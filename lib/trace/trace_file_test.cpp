
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/compilation/compilation.h"
#include "lib/compilation/watchers.h"
#include "lib/records/golden.h"
#include "lib/rules/match_stats.h"
#include "lib/support/testing.h"
#include "lib/trace/provenance.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"

namespace tgc {
namespace {

// Returns up to `wanted` golden records without errors, from every seventh one.
std::vector<GoldenRecord> records(size_t wanted) {
  auto reader = GoldenReader::open(test_path("golden/kernels.jsonl.gz"));
  REQUIRE(reader.ok());
  std::vector<GoldenRecord> out;
  for (size_t n = 0; out.size() < wanted; n++) {
    auto record = reader->next_record();
    REQUIRE(record.ok());
    if (!*record) break;
    if (n % 7 == 0 && !(*record)->error) out.push_back(std::move(**record));
  }
  REQUIRE(!out.empty());
  return out;
}

Compilation compilation_of(const GoldenRecord& record) {
  auto in = load_graph_text(Settings(), InputKind::Pyrender, record.ast, record.id);
  REQUIRE(in.ok());
  in->info.name = record.id;
  auto c = Compilation::begin(std::move(*in), {.target = record.target});
  REQUIRE(c.ok());
  return std::move(*c);
}

// Calls after(result, stage) after each stage.
void trace_record(const GoldenRecord& record, TraceConsumer& to,
                  const std::function<void(UOp, const Stage&)>& after = {}) {
  Compilation c = compilation_of(record);
  TraceObserver stage_observer(to);
  c.set_stage_observer(&stage_observer);
  for (const StageRow* row = c.next_row(); row && row->kernel; row = c.next_row()) {
    auto step = c.run_step();
    REQUIRE_MESSAGE(step.ok(), step.diag().text());
    if (after) after(c.current_graph(), *row->kernel);
  }
  c.set_stage_observer(nullptr);
}

// Keeps the input of a stage and of its first rewrite, the result of its last rewrite, and the number of applied rules.
struct Outline : TraceConsumer {
  UOp input, first, last;
  size_t rewrites = 0;
  void begin_stage(std::string_view, UOp u) override { input = u, first = last = UOp(); }
  void begin_rewrite(const TraceRewrite&, int depth, UOp u) override {
    if (depth == 0 && !first) first = u;
  }
  void end_rewrite(int depth, UOp u) override {
    if (depth == 0) last = u;
  }
  void on_rule_applied(int, const TraceRule&, UOp, UOp, TraceCost) override { rewrites++; }
};

TEST_CASE("trace: the listed rewrites, applied to a stage's input, give its output") {
  for (const GoldenRecord& record : records(6)) {
    TraceReplay replay;
    Outline outline;
    TraceForwarder both({&replay, &outline});
    size_t stages = 0;
    trace_record(record, both, [&](UOp result, const Stage& stage) {
      if (stage.run) return;  // stages with a function `run` may start several rewrites
      stages++;
      CHECK(outline.first == outline.input);
      CHECK(outline.last == result);
    });
    INFO(record.id);
    CHECK(stages > 10);
    CHECK(outline.rewrites > 20);
    CHECK(replay.num_same() > 10);
    CHECK(replay.num_different() == 0);
  }
}

TEST_CASE("TraceReplay: a missing rewrite is detected") {
  struct Forgetful : TraceReplay {
    size_t n = 0;
    void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
      if (depth > 0 || ++n % 5) TraceReplay::on_rule_applied(depth, rule, before, after, cost);
    }
  } replay;
  trace_record(records(1)[0], replay);
  CHECK(replay.num_different() > 0);
}

TEST_CASE("trace: a file has the same events as the run") {
  for (const char* ending : {".trace", ".trace.gz"}) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("tgc_test." + std::to_string(getpid()) + ending)).string();
    std::string live, read;
    for (const GoldenRecord& record : records(2)) {
      live.clear(), read.clear();
      auto writer = TraceWriter::create(path);
      REQUIRE(writer.ok());
      TracePrinter printer({.includes_nested = true}, {}, [&](std::string_view text) { live += text; });
      TraceForwarder both({&printer, writer->get()});
      trace_record(record, both);
      REQUIRE((*writer)->close().ok());
      CHECK(is_trace_file(path));
      TracePrinter again({.includes_nested = true}, {}, [&](std::string_view text) { read += text; });
      TraceReplay replay;
      TraceForwarder readers({&again, &replay});
      auto status = read_trace(path, readers);
      REQUIRE_MESSAGE(status.ok(), status.diag().text());
      CHECK(live.size() > 1000);
      CHECK(read == live);
      CHECK(replay.num_same() > 10);
      CHECK(replay.num_different() == 0);
    }
    std::filesystem::remove(path);
  }
}

#define SINK                                               \
  R"({"id":0,"op":"SINK","dtype":"dtypes.void","src":[]})" \
  "\n"
#define KERNEL "[\"graph\"]\n" SINK "[\"kernel\",\"k\",\"CPU\",0]\n"
#define STAGE KERNEL "[\"stage\",\"s\",0]\n"

TEST_CASE("trace: after a failed stage, the file's events before it can be read") {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tgc_test." + std::to_string(getpid()) + ".trace")).string();
  Settings settings;
  settings.REWRITE_STACK_LIMIT = 3;  // every rewrite exceeds this limit, so the stage fails
  auto loaded = load_graph_text(settings, InputKind::Pyrender, records(1)[0].ast, "bad");
  REQUIRE(loaded.ok());
  auto writer = TraceWriter::create(path);
  REQUIRE(writer.ok());
  TraceObserver stage_observer(**writer);
  auto compilation = Compilation::begin(std::move(*loaded), {.target = "CPU"});
  REQUIRE(compilation.ok());
  CHECK(!run_with_observer(std::move(*compilation), stage_observer).ok());
  CHECK((*writer)->close().ok());  // the graph is freed already
  TraceReplay replay;
  CHECK(read_trace(path, replay).ok());
  std::filesystem::remove(path);
}

TEST_CASE("stats: a failed stage ends the counting of its graph, and the next graph is counted") {
  RuleStats stats;
  StatsObserver counter([](const StageRow&) { return true; }, stats);
  auto run = [&](int64_t stack_limit) {
    Settings settings;
    settings.REWRITE_STACK_LIMIT = stack_limit;
    auto loaded = load_graph_text(settings, InputKind::Pyrender, records(1)[0].ast, "k");
    REQUIRE(loaded.ok());
    std::shared_ptr<Graph> graph = loaded->graph;  // outlives the compilation
    auto compilation = Compilation::begin(std::move(*loaded), {.target = "CPU"});
    REQUIRE(compilation.ok());
    bool done = run_with_observer(std::move(*compilation), counter).ok();
    CHECK(rewrite_observer_of(*graph) == nullptr);
    return done;
  };
  auto hits = [&] {
    uint64_t sum = 0;
    for (const RuleCounters& r : stats.counters_by_rule()) sum += r.num_hits;
    return sum;
  };
  CHECK_FALSE(run(3));  // every rewrite exceeds this limit
  uint64_t before = hits();
  CHECK(run(250000));
  CHECK(hits() > before);
}

TEST_CASE("trace: a damaged file is an error with its place") {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tgc_test." + std::to_string(getpid()) + ".bad")).string();
  for (const char* body : {"[\"rewrite\",0,0,0,0,0,0,0]\n", "{\"id\":1,\"op\":\"SINK\",\"dtype\":\"dtypes.void\"}\n",
                           "[\"graph\"]\n[\"stage\",\"x\",5]\n", "[\"graph\"]\n[\"what\"]\n",
                           "[\"graph\"]\n[\"end\",-1,null]\n", "[\"stage\"]\n",
                           // Invalid: an event outside of a kernel, stage or rewrite, or with a wrong depth or node.
                           KERNEL "[\"end\",0,null]\n", STAGE "[\"end\",9000,0]\n", STAGE "[\"end\",4294967296,0]\n",
                           STAGE "[\"begin\",1,\"x\",0,0,true,\"x\"]\n", STAGE "[\"gated\",0,0]\n",
                           STAGE "[\"begin\",0,\"x\",0,0,true,\"x\"]\n[\"rebuilt\",0,0,null]\n",
                           KERNEL "[\"stage_end\",0]\n", "[\"graph\"]\n" SINK "[\"stage\",\"x\",0]\n"}) {
    FILE* f = fopen(path.c_str(), "w");
    std::fprintf(f, "{\"format\":\"tgc-trace\",\"version\":2}\n%s", body);
    fclose(f);
    TraceReplay replay;
    auto status = read_trace(path, replay);
    INFO(body);
    REQUIRE(!status.ok());
    CHECK(status.diag().text().find(".bad:") != std::string::npos);
  }
  std::filesystem::remove(path);
}

TEST_CASE("TracePrinter: the text of a rewrite, and filters") {
  std::string all, adds, rule;
  GoldenRecord record = records(1)[0];
  auto print_to = [](std::string& out) { return [&out](std::string_view text) { out += text; }; };
  TracePrinter everything({}, {}, print_to(all)), of_op({.ops = Op::ADD}, {}, print_to(adds)),
      by_rule({.rule_pattern = "lower-*"}, {}, print_to(rule));
  TraceForwarder both({&everything, &of_op, &by_rule});
  trace_record(record, both);
  CHECK(all.find("=== kernel " + record.id) == 0);
  CHECK(all.find("--- postopt symbolic") != all.npos);
  CHECK(all.find("passes/kernel/index_dtype.cpp:") != all.npos);
  CHECK(rule.find("lower-") != rule.npos);
  CHECK(rule.find("passes/symbolic/") == rule.npos);
  CHECK(rule.size() < all.size());
  CHECK(adds.size() < all.size());
}

TEST_CASE("Provenance: the history of a node back to the AST and to the last graph") {
  for (const GoldenRecord& record : records(4)) {
    struct Story : NodeProvenance {
      size_t nodes = 0, from_ast = 0, steps = 0;
      void end_kernel() override {
        std::string_view stage = stage_names().back();
        for (UOp u : toposort(stage_result_of(stage))) {
          bool reached = false;
          auto list = steps_from_ast(u, stage, reached);
          nodes++, from_ast += reached, steps += list.size();
          for (const TraceStep& s : list) CHECK(s.after);
          CHECK(provenance_text(*this, u, stage, false).find("where it comes from") != std::string::npos);
        }
        UOp last;
        auto onward = steps_to_end(stage_result_of(""), "", last);
        CHECK(!onward.empty());
        CHECK(last == stage_result_of(stage));
      }
    } story;
    trace_record(record, story);
    INFO(record.id);
    CHECK(story.nodes > 5);
    CHECK(story.steps > story.nodes / 2);
    CHECK(story.from_ast == story.nodes);
  }
}

TEST_CASE("stats: hits equal the rewrites of a trace, and attempts are not fewer") {
  for (const GoldenRecord& record : records(4)) {
    struct Tally : TraceConsumer {
      std::map<std::pair<std::string, uint32_t>, uint64_t> hits;
      void on_rule_applied(int, const TraceRule& rule, UOp, UOp, TraceCost) override {
        hits[{std::string(rule.file), rule.line}]++;
      }
    } tally;
    trace_record(record, tally);
    const StageRow& last = get_stage_row(kernel_stages().back().name);
    RuleStats stats;
    {
      Compilation c = compilation_of(record);
      RuleCounter watch(c.graph(), stats);
      REQUIRE(c.run_through_stage(last).ok());
    }
    auto counted = stats.counters_by_rule();
    std::map<std::pair<std::string, uint32_t>, uint64_t> hits;
    for (uint32_t id = 0; id < counted.size(); id++) {
      const RuleCounters& c = counted[id];
      CHECK(c.num_attempts >= c.num_hits);
      CHECK(c.total_ns >= c.hit_ns);
      if (c.num_hits) hits[{std::string(short_file_name(*rule_of_id(id))), rule_of_id(id)->line}] += c.num_hits;
    }
    CHECK(hits == tally.hits);
    CHECK(stats_text(counted).find("-- TOTAL\n") != std::string::npos);
    REQUIRE(compilation_of(record).run_through_stage(last).ok());  // without an observer
    CHECK(stats.counters_by_rule().size() == counted.size());
  }
}

}  // namespace
}  // namespace tgc
