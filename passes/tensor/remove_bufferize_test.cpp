#include "passes/tensor/remove_bufferize.h"

#include "passes/tensor/bufferize.h"
#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("constants need no buffer") {
  TensorTest t(pm_const_buffer_folding());
  UOp two = t.constant(dtypes::float32, 2.0), r = t.range(8), x = t.tensor(0, {8});
  auto kept = [&](UOp value, bool removable = true) { return bufferize(value, std::array{r}, {.device = t.graph.str("CPU"), .removable = removable}); };
  t.check("fold-copy-of-const", t.copied(two, "CUDA"), t.graph.constant(dtypes::float32, 2.0, t.graph.str("CUDA")));
  t.declines("fold-copy-of-const", t.copied(x, "CUDA"));
  t.check("noop-of-const", kept(t.node(Op::NOOP, two.dtype(), two)), kept(two));
  t.declines("noop-of-const", kept(t.node(Op::NOOP, x.dtype(), x.index(r))));
  UOp there = t.graph.constant(dtypes::float32, 2.0, t.graph.str("A"));
  t.check("index-stack-of-const", mstack(there, std::array{there, there}).index(r, dtypes::float32), two);
  t.declines("index-stack-of-const", mstack(x, std::array{x, x}).index(r, dtypes::float32));
  // an arange is computed at the place that asks, unless the user asked to keep it
  UOp i = t.range(4, 1), counted = r.cast(dtypes::int32);
  t.check("inline-arange", kept(counted).index(i, dtypes::int32), i.cast(dtypes::int32));
  t.declines("inline-arange", kept(counted, false).index(i, dtypes::int32));
}

TEST_CASE("an image is a whole buffer of whole pixels") {
  TensorTest t(pm_const_buffer_folding());
  DType image = dtypes::imagef(std::array<int64_t, 3>{2, 4, 4});
  UOp x = t.load(0, dtypes::float32);
  t.check("image-of-value", x.exp2().with_dtype(image), x.exp2());
  t.declines("image-of-value", x.exp2());
  auto kept = [&](ShapeVec sizes, DType dtype) {
    std::vector<UOp> ranges;
    for (Sint s : sizes) ranges.push_back(t.range(s.as_int(), int64_t(ranges.size())));
    return bufferize(x, ranges, {.device = t.graph.str("CL")}).with_dtype(dtype);
  };
  t.declines("image-misfit", kept({2, 4, 4}, image));
  t.check("image-misfit", kept({2, 4, 2}, image), kept({2, 4, 2}, dtypes::float32));    // half of it
  t.check("image-misfit", kept({4, 4, 2}, image), kept({4, 4, 2}, dtypes::float32));    // all, in rows of half pixels
  t.declines("image-misfit", kept({2, 4, 2}, dtypes::float32));
}

}  // namespace
}  // namespace tgc
