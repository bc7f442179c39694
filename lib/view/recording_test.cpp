#include "lib/view/recording.h"

#include <doctest/doctest.h>

#include "lib/view/page.h"

namespace tgc {
namespace {

TEST_CASE("Recorder: counts no rewrites of discarded attempts") {
  Graph graph;
  const UOp one = graph.constant(dtypes::int32, Const(1)), two = graph.constant(dtypes::int32, Const(2));
  const UOp sink = graph.sink({one});
  GraphRecorder recorder;
  recorder.begin_kernel("k", "", sink);
  recorder.begin_stage("expander", sink);
  recorder.begin_rewrite({.name = "expander", .rule_set = "expander"}, 0, sink);
  const TraceRule rule{.name = "a", .file = "a.py", .line = 1};
  TraceRule discarded = rule;
  discarded.branch = "discarded";
  for (const TraceRule& r : {rule, rule, discarded}) recorder.on_rule_applied(0, r, one, two, {});
  recorder.end_rewrite(0, sink);
  recorder.end_stage(sink);
  const RecordedGraph made = recorder.finish_graph(nullptr, {});
  CHECK(made.num_rewrites == 2);
  CHECK(made.data_json.find(R"("rewrites":3,"discarded":1)") != std::string::npos);
}

TEST_CASE("RecordingWriter: shortens long literals, and keeps different ones different") {
  auto data_of = [](const std::string& text) {
    Graph graph;
    GraphRecorder recorder;
    recorder.begin_kernel("k", "", graph.sink({graph.node(Op::CUSTOM, dtypes::void_, {}, graph.str(text))}));
    return recorder.finish_graph(nullptr, {}).data_json;
  };
  const std::string same(300, 'a'), a = data_of(same + "x"), b = data_of(same + "\\'" + same + "y");
  CHECK(a.find(std::string(100, 'a')) == a.npos);
  CHECK(b.find(std::string(100, 'a')) == b.npos);
  CHECK(a != b);
  CHECK(data_of("short").find("'short'") != a.npos);
  // names of kernels, which have color codes, are not shortened
  CHECK(data_of("r\x1b[31m_\x1b[0m" + same).find(same) != a.npos);
}

TEST_CASE("view_page: graphs that are not compiled yet stand between others in a page of many graphs") {
  ViewContent content;
  content.graphs.resize(40);
  for (size_t i = 0; i < content.graphs.size(); i++) {
    content.graphs[i].name = "k" + std::to_string(i);
    if (i != 7) content.graphs[i].data_json = content.graphs[i].events_json = R"({"nodes":[1]})";
  }
  CHECK_NOTHROW(make_view_page(kDataPlaceholder, content));
}

}  // namespace
}  // namespace tgc
