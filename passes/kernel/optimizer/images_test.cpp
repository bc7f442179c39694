#include "passes/kernel/optimizer/optimizer.h"

#include <array>

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("buffers become images, and images with unfoldable stores become buffers again") {
  RuleTest make(pm_create_image_buffers()), undo(pm_remove_unfoldable_image_stores());
  DType image = dtypes::imagef(std::array<int64_t, 3>{1, 256, 4}, 4096);
  ImageBufferDTypes images;
  UOp buffer = make.buffer(3, dtypes::float32, 1024);
  make.check_rule("make-image", buffer, buffer.with_dtype(image), images);
  CHECK(images[3] == dtypes::float32.ptr(1024));
  make.check_declines("make-image", make.buffer(4, dtypes::float32, 8), images);
  make.check_declines("make-image", make.buffer(4, dtypes::float16, 1024), images);
  make.check_declines("make-image", make.buffer(4, dtypes::float32, 65536), images);
  CHECK(!images.contains(4));

  UOp x = undo.load(0, dtypes::float32);
  auto at = [&](int64_t number, Const end) {
    return undo.buffer(number, dtypes::float32, 1024).with_dtype(image).index(undo.range(end));
  };
  UOp idx = at(3, 6);
  undo.check_rule("undo-image-store", idx.store(x),
                  idx.with_src({undo.buffer(3, dtypes::float32, 1024), idx.src(1)}).store(x), images);
  undo.check_declines("undo-image-store", at(3, 8).store(x), images);  // the index has an axis divisible by 4
  undo.check_declines("undo-image-store", at(4, 6).store(x), images);
}

}  // namespace
}  // namespace tgc
