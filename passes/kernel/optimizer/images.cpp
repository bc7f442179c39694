#include "passes/kernel/optimizer/optimizer.h"

#include <algorithm>
#include <array>

#include "lib/rewrite/rewrite.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

namespace {

UOp make_image(ImageBufferDTypes& images, UOp buf) {
  DType d = buf.dtype();
  if (d.is_image() || d.base() != dtypes::float32 || d.size() >= 65536 || d.nbytes() % 64 != 0) return {};
  images[buf.arg().small_int()] = d;
  return buf.with_dtype(dtypes::imagef(std::array<int64_t, 3>{1, d.size() / 4, 4}, d.nbytes()));
}

// Changes an image in `images` back to a buffer in a store, if no term of the store's index is a range of a size
// divisible by 4, the number of channels of a pixel.
UOp undo_image_store(ImageBufferDTypes& images, UOp s, UOp idx, UOp buf) {
  auto before = images.find(buf.arg().small_int());
  if (before == images.end()) return {};
  auto terms = split_uop(idx.src(1).get_idx(), Op::ADD);
  bool foldable = std::any_of(terms.begin(), terms.end(),
                              [](UOp c) { return c.is(Op::RANGE) && floor_mod(c.vmax().as_int() + 1, 4) == Int(0); });
  if (foldable) return {};
  return with_first_source(s, with_first_source(idx, buf.with_dtype(before->second)));
}

// Returns the dtypes that image buffers had before the stage "create image buffers". If that stage did not run, assumes
// that all images were float32 buffers.
ImageBufferDTypes& recorded_buffer_dtypes(KernelJob& job, UOp sink) {
  if (job.image_buffer_dtypes) return *job.image_buffer_dtypes;
  job.image_buffer_dtypes.emplace();
  for (UOp u : toposort(sink))
    if (u.is(Op::DEFINE_GLOBAL) && u.dtype().is_image()) {
      auto shape = u.dtype().image_shape();
      (*job.image_buffer_dtypes)[u.arg().small_int()] = dtypes::float32.ptr(shape[0] * shape[1] * shape[2]);
    }
  return *job.image_buffer_dtypes;
}

}  // namespace

bool has_image_stages(const KernelJob& job) {
  return job.should_run_optimizer && job.settings().IMAGE == 1 &&
         (job.target.device == "CL" || job.target.device == "QCOM");
}

const RuleSet& pm_create_image_buffers() {
  static const RuleSet set("pm_create_image_buffers", {
      rule("make-image", node(Op::DEFINE_GLOBAL).as(buf), with<make_image>(buf)),
  });
  return set;
}

const RuleSet& pm_remove_unfoldable_image_stores() {
  static const RuleSet set(
      "pm_remove_unfoldable_image_stores",
      {
          rule("undo-image-store",
               node(Op::STORE, node(Op::INDEX, node(Op::DEFINE_GLOBAL).as(buf), anything()).as(idx), anything()).as(s),
               with<undo_image_store>(s, idx, buf)),
      });
  return set;
}

UOp create_image_buffers(KernelJob& job, UOp sink) {
  job.image_buffer_dtypes.emplace();
  return graph_rewrite(sink, pm_create_image_buffers(),
                       {.ctx = *job.image_buffer_dtypes, .name = "create image buffers"});
}

UOp remove_unfoldable_image_stores(KernelJob& job, UOp sink) {
  return graph_rewrite(sink, pm_remove_unfoldable_image_stores(),
                       {.ctx = recorded_buffer_dtypes(job, sink), .name = "remove unfoldable image stores"});
}

}  // namespace tgc
