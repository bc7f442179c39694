// Image buffers: with IMAGE=1, float buffers of kernels for OpenCL become images where every access can be one of four
// channels (tinygrad codegen/opt/postrange.py: make_images).
#pragma once
#include "passes/pipeline.h"

namespace tgc {

bool makes_images(const KernelJob& job);

const RuleSet& pm_create_image_buffers();           // both with a context of type ImageBuffers
const RuleSet& pm_remove_unfoldable_image_stores();

// The stages "create image buffers" and "remove unfoldable image stores".
UOp create_image_buffers(KernelJob& job, UOp sink);
UOp remove_unfoldable_image_stores(KernelJob& job, UOp sink);

}  // namespace tgc
