#include "lib/run/repro_bundle.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

#include "lib/bisect/bisect.h"
#include "lib/records/input_file.h"
#include "lib/rewrite/fault.h"
#include "lib/support/testing.h"

using namespace tgc;
namespace fs = std::filesystem;

namespace {

const char* kDivision =
    "i = UOp.range(8, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 1).index(i*3)\n"
    "v = UOp(Ops.IDIV, dtypes.int, (a, UOp.const(dtypes.int, 7)), None)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";

InputGraph loaded(InputKind kind, const std::string& text) {
  InputGraph in = std::move(load_graph_text({}, kind, text, "test").value_or_throw());
  if (in.info.name.empty()) in.info.name = "division";
  return in;
}

}  // namespace

TEST_CASE("bundle: a failing run writes a file that repeats the failure and that bisect accepts") {
  Session session;
  fs::path path = fs::temp_directory_path() / ("tgc_bundle." + std::to_string(getpid()) + ".repro");
  std::string file = path.string(), text;
  {
    ScopedEnvironment with("TGC_FAULT", "load-index@1");
    InputGraph in = loaded(InputKind::Pyrender, kDivision);
    RunReport report = run_kernel(session, in, {.device = {.name = "CPU:LLVM"}, .output = {.repro_path = file}});
    set_fault_of_thread(std::nullopt);  // remove the fault that the run has read from the bundle
    CHECK(report.error == "");
    CHECK(report.exit_code() == 1);
    CHECK(report.repeat_command == "tgc run " + file);
    text = std::move(read_file(file).value_or_throw());
    CHECK(detect_input_kind(text) == InputKind::Repro);
    InputGraph again = loaded(InputKind::Repro, text);
    CHECK(again.read_report.repro->symptom == "wrong");
    CHECK(again.info.target == "CPU:LLVM");
    CHECK(again.read_report.repro->inputs.size() == 1);
    RepeatReport repeated = repeat_failure(session, again, {});
    CHECK(repeated.is_still_failing());
    CHECK(repeated.exit_code() == 1);
    BisectReport blamed = bisect(session, again, {});
    CHECK(blamed.verdict.rule == "load-index");
    fs::remove(path);
  }
  InputGraph mended = loaded(InputKind::Repro, text);
  RepeatReport repeated = repeat_failure(session, mended, {});
  CHECK(repeated.error == "");
  CHECK(repeated.exit_code() == 0);
  CHECK(repeated.text().find("no longer happens") != std::string::npos);
}

TEST_CASE("bundle: omits a variable that the graph lacks") {
  Session session;
  InputGraph in = loaded(InputKind::Pyrender, kDivision);
  Placement place = make_ref_placement();
  RunOptions spec{.input = {.variables = {{"n", 3}}}, .device = {.name = "REF"}};
  std::string text = bundle_text(session, spec, in, place, Repro{.symptom = "wrong"});
  CHECK(text.find("variables") == std::string::npos);
  CHECK(loaded(InputKind::Repro, text).read_report.repro->variables.empty());
}

TEST_CASE("bundle: failure signatures distinguish refusals and wrong values") {
  Session session;
  auto symptom = [&](const std::string& text, const char* device) {
    InputGraph in = loaded(InputKind::Pyrender, text);
    return std::move(failure_signature_of(session, in, {.device = {.name = device}}).value_or_throw());
  };
  CHECK(symptom(kDivision, "CPU:LLVM").kind == FailureSignature::Kind::None);
  std::string by_zero = kDivision;
  by_zero.replace(by_zero.find("dtypes.int, 7"), 13, "dtypes.int, 0");
  CHECK(symptom(by_zero, "CPU:LLVM").kind != FailureSignature::Kind::Wrong);
  std::string special = kDivision;
  special.replace(special.find("i*3"), 3, "i*30");
  FailureSignature outside = symptom(special, "REF");
  CHECK(outside.kind == FailureSignature::Kind::Crash);
  CHECK(outside.cause_key.find("30") == std::string::npos);
}
