#include "passes/program.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"
#include "passes/kernel/stages.h"

using namespace tgc;

namespace {

Arg kernel_info(Graph& g, std::string_view name) {
  return g.record(RecordClass::KernelInfo, {g.str(name), g.tuple({}), false, g.tuple({}), Arg()});
}

UOp buffer(Graph& g, int number, int64_t size) {
  return g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(size), {}, number);
}

}  // namespace

TEST_CASE("program_info gives the buffers, launch size and cost of a loop") {
  Graph g;
  UOp out = buffer(g, 0, 8), in = buffer(g, 1, 16);
  UOp i = g.range(g.constant(dtypes::int32, 8), std::vector<Arg>{0, AxisType::LOOP}, dtypes::int32);
  UOp gid = g.special(g.constant(dtypes::int32, 4), "gidx0", dtypes::int32),
      lid = g.special(g.constant(dtypes::int32, 2), "lidx1", dtypes::int32);
  UOp value = in.index_ptr(i + gid).load({}, dtypes::float32).sqrt() * in.index_ptr(i + lid).load({}, dtypes::float32);
  auto list = linearize(g.sink(out.index_ptr(i).store(value).end(i), kernel_info(g, "k n")));
  auto info = make_program_info(list);
  REQUIRE(info);
  CHECK(info->function_name == "k20n");
  CHECK(info->global_size[0] == Sint(4));
  CHECK((*info->local_size)[1] == Sint(2));
  CHECK(info->outs == std::vector<int64_t>{0});
  CHECK(info->ins == std::vector<int64_t>{1});
  CHECK(info->globals == std::vector<int64_t>{0, 1});
  // 8 threads run 8 iterations of a square root, a product, two loads and a store, which access 4 bytes each; the
  // additions in the addresses do not count
  CHECK(info->estimates.ops == Sint(8 * 8 * 2));
  CHECK(info->estimates.lds == Sint(8 * 8 * 12));
  CHECK(info->estimates.mem == Sint(4 * (8 + 16)));
  CHECK(estimate_kernel(list, false).ops == Sint(8 * 8 * 4));
}

TEST_CASE("a launch size that depends on a variable is an expression") {
  Graph g;
  UOp n = g.variable("n", 1, 9, dtypes::int32), out = buffer(g, 0, 16);
  UOp i = g.special(n, "idx0", dtypes::int32);
  auto info = make_program_info(
      linearize(g.sink(out.index_ptr(i).store(g.constant(dtypes::float32, 1.0)), kernel_info(g, "k"))));
  REQUIRE(info);
  CHECK(info->global_size[0].str() == "n");
  CHECK_FALSE(info->local_size);
  CHECK(info->vars == std::vector<UOp>{n});
  CHECK(info->estimates.lds.str() == "(4*n)");
}

TEST_CASE("an END without a RANGE before it is an error") {
  Graph g;
  UOp end = g.node(Op::END, dtypes::void_);
  UOp list[] = {end, g.sink({end})};
  CHECK_FALSE(make_program_info(list));
}
