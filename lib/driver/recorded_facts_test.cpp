#include "lib/driver/recorded_facts.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/driver/source.h"
#include "lib/records/read_graph.h"
#include "lib/support/json_writer.h"

using namespace tgc;

namespace {

const std::string kSink = "KernelInfo(name='k', axis_types=(), dont_use_locals=False, applied_opts=(), "
                          "opts_to_apply=None, estimates=None, beam=0)",
                  kOne = "UOp.const(1, dtypes.weakint)", kZero = "UOp.const(0, dtypes.weakint)",
                  kParam = "c1 = UOp(Ops.PARAM, dtypes.ulong, (" + kOne + ",), ParamArg(0, dtypes.ulong))\n",
                  kVolatile = "c1 = UOp(Ops.PARAM, dtypes.ulong, (" + kOne + ",), "
                              "ParamArg(0, dtypes.ulong, volatile=True))\n";
// ASTs of kernels of 0.14: kStore stores a number, kCall calls an address that it loads, and kWait loops until memory
// changes
const std::string kStore = kParam + "c5 = c1.index(" + kZero + ").store(UOp.const(3, dtypes.ulong))\n" +
                           "ast = c5.sink(arg=" + kSink + ")",
                  kCall = kParam + "c4 = c1.index(" + kZero + ").load()\nc5 = UOp(Ops.CALL, dtypes.void, (c4,))\n" +
                          "ast = c5.sink(arg=" + kSink + ").rtag(1)",
                  kWait = kVolatile + "c3 = UOp(Ops.RANGE, dtypes.void, (UOp(Ops.NOOP, dtypes.void, ()),), (0, "
                          "AxisType.WEAK))\nc7 = c1.after(c3).index(" + kZero + ").load()\n" +
                          "c9 = c7.end(c3, (c7<UOp.const(5, dtypes.ulong)))\nast = c9.sink(arg=" + kSink + ").rtag(1)";

constexpr std::string_view kProducer = "tinygrad 0.14.0";

GoldenRecord record_of(const std::string& ast) {
  GoldenRecord out;
  out.id = "k", out.target = "CPU:CLANG", out.ast = ast;
  return out;
}

std::string line_of(const std::string& id, const std::string& ast, bool marked) {
  return json_object([&](JsonWriter& json) {
           json.member("id", id).member("target", "CPU:CLANG").member("nodes", 9).member("ast", ast);
           if (marked) json.member("runtime", true);
           json.key("stages").array([] {});
         }) + "\n";
}

struct Notes : EventListener {
  void on_note(const std::string& what) override { all += what + "\n"; }
  std::string all;
};

}  // namespace

TEST_CASE("a record without a mark is recognized as a kernel of the runtime by its graph") {
  CHECK_FALSE(is_runtime_kernel(record_of(kStore), kProducer));
  CHECK(is_runtime_kernel(record_of(kCall), kProducer));
  CHECK(is_runtime_kernel(record_of(kWait), kProducer));
  CHECK_FALSE(is_runtime_kernel(record_of("CALL volatile"), kProducer));  // not the text of a graph
  std::string signal = kStore;
  signal.replace(signal.find("'k'"), 3, "'signal_prog'");
  CHECK_FALSE(is_runtime_kernel(record_of(signal), kProducer));
  CHECK(is_runtime_kernel(record_of(signal + ".rtag(1)"), kProducer));
}

TEST_CASE("a mark makes a record a kernel of the runtime") {
  auto record = parse_golden_record({line_of("k", kStore, true), 2}, "f");
  REQUIRE(record.ok());
  CHECK(is_runtime_kernel(*record, kProducer));
}

TEST_CASE("find_call_of_value finds calls of a loaded address, but not calls of kernels") {
  auto callee = [](const std::string& text) {
    Graph graph;
    GraphReadReport report{.producer = kProducer};
    auto read = read_graph(graph, InputKind::Pyrender, text, "f", &report);
    REQUIRE_MESSAGE(read.ok(), read.diag().text());
    UOp call = find_call_of_value(read->root);
    return call ? call.src(0).op() : Op::NOOP;
  };
  CHECK(callee(kCall) == Op::LOAD);
  CHECK(callee(kStore) == Op::NOOP);
  std::string kernel_call = kStore;
  kernel_call.replace(kernel_call.find("ast ="), 5, "sink =");
  CHECK(callee(kernel_call + "\nast = UOp(Ops.CALL, dtypes.void, (sink,))") == Op::NOOP);
}

TEST_CASE("Source skips kernels of the runtime, notes their number, and refuses one that is named") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tgc_runtime_kernel_test." + std::to_string(getpid()));
  std::ofstream(file) << R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.14.0",)"
                      << "\"settings\":{}}\n"
                      << line_of("marked", kStore, true) << line_of("call", kCall, false)
                      << line_of("store", kStore, false);
  Notes notes;
  Session session{.events = &notes};
  auto ids = [&](bool all) {
    std::string out;
    auto source = GraphSource::open(session, file.string());
    REQUIRE(source.ok());
    if (all) source->accept_runtime_kernels();
    for (auto graph = source->next_graph(); graph && *graph; graph = source->next_graph())
      out += (*graph)->info.name + " ";
    return out;
  };
  CHECK(ids(false) == "store ");
  CHECK(notes.all == "2 kernels of tinygrad's runtime skipped\n");
  CHECK(ids(true) == "marked call store ");
  for (const char* id : {"#marked", "#call"}) {
    auto source = GraphSource::open(session, file.string() + id);
    REQUIRE(source.ok());
    auto graph = source->next_graph();
    CHECK_FALSE(graph.ok());
    CHECK(graph.diag().message.find("is a kernel of tinygrad's runtime") != std::string::npos);
  }
  std::filesystem::remove(file);
}
