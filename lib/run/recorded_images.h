// Finds the sizes of the images of a recorded OpenCL source.
#pragma once
#include <string>
#include <vector>

#include "lib/execute/executable.h"

namespace tgc {

// Returns `source`, an OpenCL kernel, with constants before it that tell the size and the dtype of each image:
// NAME_w, NAME_h and NAME_half. The device's functions that read and write images use them, because an image is a
// buffer of rows of pixels of four floats or halves each. Throws Failure if an image does not fit in its buffer.
std::string with_image_sizes(std::string source, const std::vector<BufferSpec>& buffers);

}  // namespace tgc
