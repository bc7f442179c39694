#include "passes/kernel/optimizer/images.h"

#include "passes/kernel/optimizer/apply_opts.h"
#include "passes/kernel/optimizer/test_kernels.h"

namespace tgc {
namespace {

Settings image(int64_t mode) {
  Settings s;
  s.IMAGE = mode;
  return s;
}

struct ImageTest : TestBench {
  explicit ImageTest(std::string_view target_text = "CL", int64_t mode = 1) : TestBench(target_text, image(mode)) {}
  KernelJob job{graph, target};

  // data0[r0] = data1[r0] + 1 in buffers of `size` elements
  UOp copy(int64_t size, DType dtype = dtypes::float32) {
    UOp r = loop(size, 0);
    return graph.sink({buffer(0, dtype, size).index_ptr(r).store(buffer(1, dtype, size).index(r) + 1.0).end({r})});
  }
  DType dtype_of(UOp sink, int64_t number) {
    for (UOp u : toposort(sink))
      if (u.is(Op::DEFINE_GLOBAL) && u.arg() == Arg(number)) return u.dtype();
    return {};
  }
};

TEST_CASE("images are made for OpenCL with IMAGE=1 alone") {
  CHECK(makes_images(ImageTest("CL").job));
  CHECK(makes_images(ImageTest("CL:INTEL").job));
  CHECK(!makes_images(ImageTest("CL", 2).job));
  CHECK(!makes_images(ImageTest("CUDA").job));
  ImageTest t;
  t.job.optimize = false;
  CHECK(!makes_images(t.job));
}

TEST_CASE("float buffers of whole 64 bytes below 65536 elements become images") {
  ImageTest t;
  auto after = [&](int64_t size, DType dtype = dtypes::float32) { return std::string(t.dtype_of(create_image_buffers(t.job, t.copy(size, dtype)), 0).repr()); };
  CHECK(after(64) == "dtypes.imagef((1, 16, 4))");
  CHECK(after(72) == "dtypes.float.ptr(72)");
  CHECK(after(65536) == "dtypes.float.ptr(65536)");
  CHECK(after(64, dtypes::float16) == "dtypes.half.ptr(64)");
}

TEST_CASE("a store that no axis of fours folds goes to a buffer again") {
  ImageTest t;
  auto store_to = [&](int64_t steps, int64_t stride) {
    UOp r = t.loop(steps, 0);
    UOp sink = t.graph.sink({t.buffer(0, dtypes::float32, 64).index_ptr(stride == 1 ? r : r * stride).store(t.buffer(1, dtypes::float32, 64).index(r)).end({r})});
    return remove_unfoldable_image_stores(t.job, create_image_buffers(t.job, sink));
  };
  CHECK(t.dtype_of(store_to(16, 1), 0).is_image());
  CHECK(t.dtype_of(store_to(16, 4), 0) == dtypes::float32.ptr(64));  // the axis is there, but not alone
  CHECK(t.dtype_of(store_to(15, 1), 0) == dtypes::float32.ptr(64));
  CHECK(t.dtype_of(store_to(15, 1), 1).is_image());
}

TEST_CASE("a graph that was an image before keeps it") {
  ImageTest t;
  UOp r = t.loop(15, 0);
  UOp out = t.graph.node(Op::DEFINE_GLOBAL, dtypes::imagef(std::array<int64_t, 3>{1, 16, 4}), {}, 0);
  UOp sink = t.graph.sink({out.index_ptr(r).store(t.buffer(1, dtypes::float32, 64).index(r)).end({r})});
  UOp made = remove_unfoldable_image_stores(t.job, create_image_buffers(t.job, sink));
  CHECK(t.dtype_of(made, 0).is_image());
  t.job.image_buffers.reset();  // as when a dump is resumed: all images count as made by the stage before
  CHECK(t.dtype_of(remove_unfoldable_image_stores(t.job, made), 0) == dtypes::float32.ptr(64));
}

TEST_CASE("the optimizer upcasts by four along an image") {
  ImageTest t;
  UOp made = create_image_buffers(t.job, t.copy(64));
  CHECK(apply_opts(t.job, made).arg()[3].repr().starts_with("(Opt(op=OptOps.UPCAST, axis=0, arg=4)"));
}

}  // namespace
}  // namespace tgc
