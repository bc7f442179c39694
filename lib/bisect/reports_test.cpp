#include <doctest/doctest.h>

#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

BisectReport bisected(const std::string& file, RunOptions options = {.device = {.name = "REF"}}) {
  const Session session;
  auto source = std::move(GraphSource::open(session, test_path("reports/" + file)).value_or_throw());
  InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
  return in.is_tensor_graph ? bisect_tensor_graph(session, in, options) : bisect(session, in, options);
}

}  // namespace

TEST_CASE("reports: a schedule that overwrites an input is the fault of the rewrites that take its number again") {
  const BisectReport report = bisected("overwritten_input.uop");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Schedule);
  CHECK(report.verdict.rule == "bufferize-to-store");
  CHECK(report.verdict.detail.find("fdiv-self") != std::string::npos);
  CHECK(report.verdict.is_confirmed);
}

TEST_CASE("reports: a rule that also makes the unfused kernels wrong is named, since REF computes the graph itself") {
  const BisectReport report = bisected("padcopy.uop");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Schedule);
  CHECK(report.verdict.rule == "copy-of-const");
  CHECK(report.verdict.is_confirmed);
}

TEST_CASE("reports: a kernel that runs before another one overwrites its input needs an edge in the schedule") {
  const BisectReport report = bisected("assign_order.uop");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Schedule);
  CHECK(report.verdict.rule == "");
  CHECK(report.verdict.stage == "fix_assign");
  CHECK(report.verdict.detail.find("the edge from kernel 2 to kernel 1 is missing") != std::string::npos);
}

TEST_CASE("reports: a kernel of which one iteration reads what another one writes is a hazard") {
  const BisectReport report = bisected("overlap.uop");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Hazard);
  CHECK(report.verdict.detail.starts_with("iteration r0=8 loads data0[8], which iteration r0=0 stores"));
}

TEST_CASE("reports: a loop that two ENDs end is the fault of the stage that makes them") {
  for (const char* file : {"two_ends.uop", "two_ends_endless.uop"}) {
    const BisectReport report = bisected(file, {.device = {.name = "CPU:LLVM"}});
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == "reduce-to-accumulator");
    CHECK(report.verdict.stage == "remove_reduce");
    CHECK(!report.verdict.is_confirmed);
  }
}

TEST_CASE("reports: a packed buffer of five bytes has two words in REF") {
  const BisectReport report = bisected("wgsl_uchar5.uop");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Same);
}

}  // namespace tgc
