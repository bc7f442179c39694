#include "lib/compilation/input_graph.h"

#include <doctest/doctest.h>

#include "lib/compilation/compilation.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

InputGraph load(std::string_view text, bool take_malformed = false) {
  return std::move(load_graph_text({}, detect_input_kind(text), text, "t", take_malformed).value_or_throw());
}

TEST_CASE("load_text adds the SINK of a tensor that print(t.uop) shows, in every format") {
  InputGraph printed = load(*read_file(test_path("reports/0.12.0.print.txt")));
  CHECK(printed.is_tensor_graph);
  REQUIRE(printed.root.is(Op::SINK));
  CHECK(printed.root.num_src() == 1);
  CHECK(printed.root.src(0).is(Op::RESHAPE));
  for (GraphFormat f : {GraphFormat::Pyrender, GraphFormat::Json, GraphFormat::Repr}) {
    auto text = write_graph(f, printed.root.src(0));
    REQUIRE(text.ok());
    CHECK_MESSAGE(load(*text).root.is(Op::SINK), name_of(f));
    CHECK_MESSAGE(load(*text, true).root.is(Op::RESHAPE), name_of(f));
  }
  auto compilation = Compilation::begin(std::move(printed), {});
  REQUIRE(compilation.ok());
  auto& schedule = compilation->schedule();
  REQUIRE(schedule.ok());
  CHECK(schedule->items.size() == 1);
  CHECK(load(*read_file(test_path("reports/0.14.0.print.txt"))).root.is(Op::SINK));
}

TEST_CASE("load_text adds no SINK to kernels, lists and results of stages") {
  CHECK(load("ast = UOp.range(4, 0, AxisType.LOOP)").root.is(Op::RANGE));
  const std::string stage = "# tgc: {\"stage\":\"earliest rewrites\"}\nast = UOp.new_buffer('CPU', 4, dtypes.int, 1)";
  CHECK(load(stage).root.is(Op::BUFFER));
  CHECK(load(stage.substr(stage.find("ast"))).root.is(Op::SINK));
  InputGraph list = load(*read_file(test_path("reports/head_list.txt")));
  CHECK_FALSE(list.is_tensor_graph);  // the BUFFER of this kernel is its accumulator
  CHECK(list.list.size() == 56);
}

}  // namespace
}  // namespace tgc
