// Tests that bisect finds divergences from tinygrad. Records that tgc makes, and shell scripts, replace tinygrad here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "lib/bisect/strategies.h"
#include "lib/compilation/graph_compiler.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/watchers.h"
#include "lib/driver/failure_collector.h"
#include "lib/rewrite/fault.h"
#include "lib/support/json_writer.h"
#include "lib/text/graph_json.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

constexpr const char* kKernel =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 1).index(i*2+1)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(12), (), 0).index(i, ptr=True).store(a*6//4+0).end(i).sink()\n";
constexpr const char* kTarget = "CPU:LLVM";

InputGraph kernel() {
  InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, kKernel, "test").value_or_throw());
  in.info.name = "kernel", in.info.target = kTarget;
  return in;
}

class WithoutRule : public RewriteLog {
 public:
  explicit WithoutRule(std::string_view rule) : rule_(rule) {}
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override {
    UOp made = RewriteLog::choose_result(hit, before, after);
    return hit.rule->name == rule_ ? UOp() : made;
  }

 private:
  std::string_view rule_;
};

// Returns a golden record of the kernel compiled without the rule `without`, with the recorded rewrites of `stage`.
GoldenRecord recorded(const std::string& stage, std::string_view without = "") {
  Session session;
  InputGraph in = kernel();
  GoldenRecord out{.id = "kernel", .target = kTarget, .ast = pyrender(in.root).value_or_throw()};
  Compilation c = compile_copy(session, in, kTarget, {}).value_or_throw();
  WithoutRule log(without);
  ScopedObserver watched(c, log);
  REQUIRE(c.list().ok());
  JsonNodeWriter writer(c.graph());
  std::string nodes, list;
  for (const StageRun& run : log.stage_runs()) {
    if (run.row->name == stage)
      for (const Rewrite& a : log.all_rewrites()) {
        if (a.stage != run.row) continue;
        int64_t before = writer.append_lines(a.before, nodes), after = writer.append_lines(a.after, nodes);
        list += (list.empty() ? "[" : ",[") + std::to_string(out.stages.size()) + ",\"uop/symbolic.py:1\"," +
                std::to_string(before) + "," + std::to_string(after) + "]";
      }
    out.stages.push_back({.name = std::string(run.row->name), .ir = pyrender(run.result).value_or_throw()});
  }
  std::ranges::replace(nodes, '\n', ',');
  while (nodes.ends_with(',')) nodes.pop_back();
  if (!stage.empty()) out.rewrites_json = "{\"nodes\":[" + nodes + "],\"list\":[" + list + "]}";
  return out;
}

Verdict divergence_from(const GoldenRecord& record, const char* fault = nullptr, uint64_t application = 1) {
  if (fault) set_fault_of_thread(FaultSpec{fault, application});
  auto verdict = find_divergence({}, kernel(), record);
  set_fault_of_thread(std::nullopt);
  return verdict ? *verdict : Verdict{};
}

}  // namespace

TEST_CASE("divergence: the first rewrite that tinygrad's recorded rewrites lack is named") {
  const std::string stage = "postopt symbolic";
  CHECK(divergence_from(recorded(stage)).kind == Verdict::Kind::Same);
  auto check = [&](const Verdict& verdict, const char* rule) {
    CHECK(verdict.kind == Verdict::Kind::Divergence);
    CHECK(verdict.stage == stage);
    CHECK(verdict.rule == rule);
    CHECK(verdict.rewrite_number == 1);
    CHECK(verdict.is_confirmed);
  };
  check(divergence_from(recorded(stage), "mul-distribute"), "mul-distribute");
  check(divergence_from(recorded(stage), "fold-binary"), "fold-binary");
  check(divergence_from(recorded(stage, "mul-distribute")), "mul-distribute");
}

TEST_CASE("divergence: without recorded rewrites, a rewrite whose result remains is named") {
  Verdict verdict = divergence_from(recorded(""), "fold-binary");
  CHECK(verdict.stage == "postopt symbolic");
  CHECK(verdict.rule == "fold-binary");
}

TEST_CASE("divergence: refusals and failures of the process that answers for tinygrad are reported") {
  Session session;
  InputGraph in = kernel();
  auto asked = [&](TinygradProcess& tinygrad) { return tinygrad.ask_process(question_about_graph(in)); };
  TinygradProcess refuses(R"(while read q; do echo '{"error":"NotImplementedError"}'; done #)", {});
  for (int i = 0; i < 2; i++) {
    auto record = asked(refuses);
    REQUIRE(record.ok());
    CHECK(record->error == "NotImplementedError");
  }
  auto refused = catch_failures([&] { return find_divergence(session, in, refuses, ""); });
  CHECK(refused.diag().text().find("tinygrad refuses it: NotImplementedError") != std::string::npos);

  TinygradProcess babbles("while read q; do echo '{}'; done #", {});
  CHECK(asked(babbles).diag().text().find("an answer that says nothing") != std::string::npos);

  // the process `thinks` does not answer in time; the process `dies` exits after each question, so tgc restarts it
  TinygradProcess thinks("read q; sleep 60 #", {});
  thinks.set_limit_seconds(0.1);
  CHECK(asked(thinks).diag().message.find("did not answer within 0.1 s") != std::string::npos);
  TinygradProcess dies(R"(read q; echo "$q" | grep -q '"until":"expander"' && echo '{"error":"alive"}'; exit 3 #)", {});
  CHECK(asked(dies).diag().text().find("exit code 3") != std::string::npos);
  CompileQuestion until_expander = question_about_graph(in);
  until_expander.last_stage = "expander";
  CHECK(dies.ask_process(until_expander).ok());
}

}  // namespace tgc
