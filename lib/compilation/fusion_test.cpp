#include "lib/compilation/fusion.h"

#include <doctest/doctest.h>

#include "lib/records/read_graph.h"
#include "lib/support/testing.h"

namespace tgc {

TEST_CASE("fusion: says why each kernel is one of its own") {
  InputGraph in{.graph = std::make_unique<Graph>(), .info = {.name = "softmax"}};
  auto read =
      read_graph(*in.graph, InputKind::Pyrender, R"(c0 = UOp.new_buffer('CPU', 32, dtypes.float, 1).reshape((4,8))
c1 = (c0+c0.r(Ops.MAX, (1,)).expand((4,8)))
c2 = c1.contiguous()*c1.permute((1, 0)).contiguous().r(Ops.ADD, (1,)).reshape((1,8)).expand((4,8))
ast = c2.sink()
)",
                 "test.uop");
  in.root = std::move(read.value_or_throw()).root, in.is_tensor_graph = true;
  Compilation c = std::move(Compilation::begin(std::move(in), {}).value_or_throw());
  const std::string text = std::move(fusion_text(c).value_or_throw());
  INFO(text);
  auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has("Ops.REDUCE_AXIS dtypes.float (Ops.MAX, (1,)) (4, 1)\n  stored since: an EXPAND between it and its user"));
  CHECK(has("and it reduces a buffer, which each use would repeat\n"));
  CHECK(has("stored since: CONTIGUOUS asks for a buffer\n  it would not be stored with: no .contiguous()\n"));
  CHECK(has("stored since: it is an output of the graph\n"));
  CHECK(has("  read by kernel 1"));
  CHECK(c.last_row() == nullptr);
}

}  // namespace tgc
