#include "lib/driver/session.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/driver/source.h"
#include "lib/records/recorded_stages.h"
#include "lib/support/testing.h"
#include "lib/support/write_file.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

const std::string kKernels = test_path("golden/kernels.jsonl.gz");

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("tgc_session_test." + std::to_string(getpid()) + "." + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

InputGraph first_of(const Session& session, const std::string& spec, const std::string& kernel = "") {
  auto source = GraphSource::open(session, spec, kernel);
  REQUIRE_MESSAGE(source.ok(), source.diag().text());
  auto graph = source->next_graph();
  REQUIRE_MESSAGE(graph.ok(), graph.diag().text());
  REQUIRE(graph->has_value());
  return std::move(**graph);
}

std::string json_of(const std::string& target, const std::string& settings) {
  Graph graph;
  auto root = read_pyrender(
      graph,
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nast = c0.index(UOp.const(dtypes.index, 0), ptr=True)"
      ".store(UOp.const(dtypes.float, 1.0)).sink()\n");
  GraphInfo info{.name = "g", .target = target};
  if (!settings.empty()) info.settings[settings] = "1";
  return graph_to_json(*root, info);
}

}  // namespace

TEST_CASE("Session: settings and target are computed for each graph, and overrides win") {
  TemporaryFile a("a.json", json_of("CUDA:PTX:sm_80", "NOOPT")), b("b.json", json_of("", ""));
  Session plain;
  InputGraph one = first_of(plain, a.path()), other = first_of(plain, b.path());
  CHECK(one.graph->settings().NOOPT == 1);
  CHECK(other.graph->settings().NOOPT == 0);
  CHECK(plain.spec_for_input(one)->target == "CUDA:PTX:sm_80");
  CHECK(plain.spec_for_input(other)->target == "CPU");
  Session asks{.overrides = {.target = "METAL", .settings_texts = {"NOOPT=0"}}};
  InputGraph over = first_of(asks, a.path());
  CHECK(over.graph->settings().NOOPT == 0);
  CHECK(asks.spec_for_input(over)->target == "METAL");
  Session wrong{.overrides = {.target = "METL"}};
  CHECK(wrong.spec_for_input(other).diag().message.find("METL") != std::string::npos);
}

TEST_CASE("Source: FILE#ID selects a record, --kernel one of many graphs, --from a recorded stage") {
  Session session;
  CHECK(InputName::parse("a/b.c.gz#x").file == "a/b.c.gz");
  CHECK(InputName::parse("a/b.c.gz#x").id == "x");
  CHECK(InputName::parse("a/b.c.gz#").file == "a/b.c.gz#");
  CHECK(InputName::parse("a/b.c.gz").stem() == "b");
  CHECK(InputName::parse("-").stem() == "kernel");
  const std::string schedules_file = test_path("upgrades/base.tensor.jsonl.gz");
  CHECK(InputName::parse(test_path("upgrades/base.jsonl.gz#x")).schedules_file() == schedules_file);
  CHECK(InputName::parse(test_path("upgrades/base.tensor.jsonl.gz")).schedules_file().empty());
  CHECK(InputName::parse(test_path("golden/kernels.jsonl.gz")).schedules_file().empty());
  CHECK(InputName::parse("a/b.uop").name_without_extension("k", false) == "a/b");
  CHECK(InputName::parse("a/b.gz").name_without_extension("../x", true) == file_name_of("../x"));
  CHECK(InputName::parse("a/b.gz#x").name_without_extension("x", false) == "x");
  InputGraph picked = first_of(session, kKernels + "#bin_add_half.0");
  CHECK(picked.info.name == "bin_add_half.0");
  REQUIRE(picked.record);
  CHECK(picked.record->id == "bin_add_half.0");
  CHECK(first_of(session, kKernels, "bin_add_half.0").info.name == "bin_add_half.0");
  CHECK(first_of(session, kKernels, "0").info.name != "bin_add_half.0");
  CHECK(first_of(session, kKernels + "#bin_add_half.0@CUDA:CUDA:sm_90").record->target == "CUDA:CUDA:sm_90");
  auto no_target = GraphSource::open(session, kKernels + "#bin_add_half.0@METAL");
  CHECK(no_target->next_graph().diag().expected == "bin_add_half.0@CUDA:CUDA:sm_90");
  auto none = GraphSource::open(session, kKernels + "#nothing");
  CHECK(none->next_graph().diag().message == "no record 'nothing'");
  auto model = GraphSource::open(session, test_path("models/mlp.onnx") + "#x");
  REQUIRE_FALSE(model);
  CHECK(model.diag().message.starts_with("'#x' picks a record, but this is an ONNX model"));

  Session later{.overrides = {.start_stage = "expand"}};
  InputGraph recorded = first_of(later, kKernels + "#bin_add_half.0");
  CHECK(recorded.info.stage == "expander");
  CHECK(*pyrender(recorded.root) == RecordedStageTexts(*recorded.record).find_stage("expander")->text);
  Session unknown{.overrides = {.start_stage = "expandr"}};
  CHECK(GraphSource::open(unknown, kKernels)->next_graph().diag().message == "unknown stage 'expandr'");
}

TEST_CASE("Source: a record's metadata is shown in schedules and traces") {
  std::string head =
      R"({"format":"tgc-golden","version":1,"level":"tensor","producer":"tinygrad 0.12.0","settings":{}})";
  auto reader = GoldenReader::open(test_path("golden/tensor.jsonl.gz"));
  GoldenLine line;
  REQUIRE(reader->next_line(line).ok());
  size_t none = line.text.find("\"metadata\": []");
  REQUIRE(none != std::string::npos);
  line.text.replace(none, 14, R"("metadata":[{"name":"relu","caller":"model:7::forward"}])");
  TemporaryFile file("made.jsonl", head + "\n" + line.text + "\n");
  Session session;
  auto c = session.begin(first_of(session, file.path()));
  REQUIRE(c.ok());
  CHECK(c->row_output(get_stage_row(StageRow::Kind::Schedule))->find("relu at model:7") != std::string::npos);
  CHECK(c->schedule_as_json()->find("\"made_for\":\"relu at model:7") != std::string::npos);
  CHECK(c->kernel(c->kernel_numbers()[0])->input_graph().user_operation.starts_with("relu at model:7"));
}

TEST_CASE("Cancel: a CPU time limit does not count other processes, and the outer Cancel stops it too") {
  CancelRequest whole;
  const auto begin = Clock::now();
  const double own = thread_seconds();
  CancelRequest limit(&whole, 0.02, CancelRequest::TimeKind::Thread),
      other(&whole, 1000, CancelRequest::TimeKind::Thread);
  while (!limit.is_cancel_requested()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  CHECK((thread_seconds() - own >= 0.02 || seconds_since(begin) >= 0.2));
  CHECK_FALSE(other.is_cancel_requested());
  whole.request_cancel();
  CHECK(other.is_cancel_requested());
}
