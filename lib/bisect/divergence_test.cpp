// Divergences from what tinygrad makes, whose part here the pipeline itself plays without the fault; and the process
// that answers in tinygrad's place.
#include "lib/bisect/divergence.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "lib/compilation/scoped_watch.h"
#include "lib/compilation/tinygrad_question.h"
#include "lib/driver/compile_copy.h"
#include "lib/rewrite/fault.h"
#include "lib/support/json_writer.h"
#include "lib/text/graph_json.h"
#include "lib/text/pyrender.h"
#include "lib/trace/applications.h"

namespace tgc {
namespace {

constexpr const char* kKernel =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 1).index(i*2+1)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(12), (), 0).index(i, ptr=True).store(a*6//4+0).end(i).sink()\n";
constexpr const char* kTarget = "CPU:LLVM";

InputGraph kernel() {
  InputGraph in = std::move(load_text({}, InputKind::Pyrender, kKernel, "test").value_or_throw());
  in.info.name = "kernel", in.info.target = kTarget;
  return in;
}

// A compiler that lacks a rule.
class WithoutRule : public ApplicationLog {
 public:
  explicit WithoutRule(std::string_view rule) : rule_(rule) {}
  UOp instead(const Hit& hit, UOp before, UOp after) override {
    UOp made = ApplicationLog::instead(hit, before, after);
    return hit.rule->name == rule_ ? UOp() : made;
  }

 private:
  std::string_view rule_;
};

// The record of a kernel as that compiler makes it; the rewrites of one stage stand in it, too.
GoldenRecord recorded(const std::string& stage, std::string_view without = "") {
  Session session;
  InputGraph in = kernel();
  GoldenRecord out{.id = "kernel", .target = kTarget, .ast = pyrender(in.root).value_or_throw()};
  Compilation c = compile_copy(session, in, kTarget, {});
  WithoutRule log(without);
  ScopedWatch watched(c, log);
  REQUIRE(c.list().ok());
  JsonNodeWriter writer(c.graph());
  std::string nodes, list;
  for (const StageRun& run : log.stages()) {
    if (run.row->name == stage)
      for (const Application& a : log.list()) {
        if (a.stage != run.row) continue;
        int64_t before = writer.add(a.before, nodes), after = writer.add(a.after, nodes);
        list += (list.empty() ? "[" : ",[") + std::to_string(out.stages.size()) + ",\"uop/symbolic.py:1\"," +
                std::to_string(before) + "," + std::to_string(after) + "]";
      }
    out.stages.push_back({.name = std::string(run.row->name), .ir = pyrender(run.result).value_or_throw()});
  }
  std::ranges::replace(nodes, '\n', ',');
  while (nodes.ends_with(',')) nodes.pop_back();
  if (!stage.empty()) out.rewrites = "{\"nodes\":[" + nodes + "],\"list\":[" + list + "]}";
  return out;
}

BisectReport blamed(const GoldenRecord& record, const char* fault = nullptr, uint64_t application = 1) {
  if (fault) set_fault_of_thread(FaultSpec{fault, application});
  BisectReport report;
  blame_divergence({}, kernel(), record, report);
  set_fault_of_thread(std::nullopt);
  return report;
}

}  // namespace

TEST_CASE("divergence: by tinygrad's own rewrites the one that it does not make is named, whatever follows from it") {
  const std::string stage = "postopt symbolic";
  CHECK(blamed(recorded(stage)).verdict == BisectReport::Verdict::Same);
  auto check = [&](const BisectReport& report, const char* rule) {
    CHECK(report.verdict == BisectReport::Verdict::Divergence);
    CHECK(report.stage == stage);
    CHECK(report.rule == rule);
    CHECK(report.rewrite == 1);
    CHECK(report.confirmed);
  };
  check(blamed(recorded(stage), "mul-distribute"), "mul-distribute");
  check(blamed(recorded(stage), "fold-binary"), "fold-binary");
  check(blamed(recorded(stage, "mul-distribute")), "mul-distribute");
}

TEST_CASE("divergence: without tinygrad's rewrites a rewrite whose result stays") {
  BisectReport report = blamed(recorded(""), "fold-binary");
  CHECK(report.stage == "postopt symbolic");
  CHECK(report.rule == "fold-binary");
}

TEST_CASE("divergence: the program that answers for tinygrad: what it refuses, and how it fails") {
  Session session;
  InputGraph in = kernel();
  auto asked = [&](TinygradProcess& tinygrad) { return tinygrad.ask(question_about(in)); };
  TinygradProcess refuses(R"(while read q; do echo '{"error":"NotImplementedError"}'; done #)", {});
  for (int i = 0; i < 2; i++) {
    auto record = asked(refuses);
    REQUIRE(record.ok());
    CHECK(record->error == "NotImplementedError");
  }
  BisectReport report;
  auto blamed = catch_failures([&] { return blame_divergence(session, in, refuses, "", report); });
  CHECK(blamed.diag().text().find("tinygrad refuses it: NotImplementedError") != std::string::npos);

  TinygradProcess babbles("while read q; do echo '{}'; done #", {});
  CHECK(asked(babbles).diag().text().find("an answer that says nothing") != std::string::npos);

  // one that dies is started anew
  TinygradProcess thinks("read q; sleep 60 #", {});
  thinks.set_seconds(0.1);
  CHECK(asked(thinks).diag().message.find("did not answer within 0.1 s") != std::string::npos);
  TinygradProcess dies(R"(read q; echo "$q" | grep -q '"until":"expander"' && echo '{"error":"alive"}'; exit 3 #)", {});
  CHECK(asked(dies).diag().text().find("exit code 3") != std::string::npos);
  CompileQuestion until_expander = question_about(in);
  until_expander.until = "expander";
  CHECK(dies.ask(until_expander).ok());
}

}  // namespace tgc
