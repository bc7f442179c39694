// Image buffers: with IMAGE=1, float32 buffers of kernels for CL and QCOM become images of four channels per pixel
// (tinygrad codegen/opt/postrange.py:make_images).
#pragma once
#include "passes/pipeline.h"

namespace tgc {

bool makes_images(const KernelJob& job);  // true if the two image stages run for this kernel

const RuleSet& pm_create_image_buffers();           // context: ImageBuffers
const RuleSet& pm_remove_unfoldable_image_stores();  // context: ImageBuffers

// Run the stages "create image buffers" and "remove unfoldable image stores".
UOp create_image_buffers(KernelJob& job, UOp sink);
UOp remove_unfoldable_image_stores(KernelJob& job, UOp sink);

}  // namespace tgc
