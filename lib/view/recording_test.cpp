#include "lib/view/recording.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

TEST_CASE("Recorder: counts no rewrites of discarded attempts") {
  Graph graph;
  const UOp one = graph.constant(dtypes::int32, Const(1)), two = graph.constant(dtypes::int32, Const(2));
  const UOp sink = graph.sink({one});
  Recorder recorder;
  recorder.kernel("k", "", sink);
  recorder.stage("expander", sink);
  recorder.begin({.name = "expander", .set = "expander"}, 0, sink);
  const TraceRule rule{.name = "a", .file = "a.py", .line = 1};
  TraceRule discarded = rule;
  discarded.branch = "discarded";
  for (const TraceRule& r : {rule, rule, discarded}) recorder.rewrite(0, r, one, two, {});
  recorder.end(0, sink);
  recorder.stage_end(sink);
  const RecordedGraph made = recorder.finish(nullptr, {});
  CHECK(made.rewrites == 2);
  CHECK(made.data.find(R"("rewrites":3,"discarded":1)") != std::string::npos);
}

}  // namespace
}  // namespace tgc
