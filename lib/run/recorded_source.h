// Compiles the source that tinygrad recorded for a kernel, to be launched with the recorded launch facts.
#pragma once
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/execute/executable.h"
#include "lib/execute/placement.h"

namespace tgc {

// Returns true if the golden record of `in` has the source of the kernel for the target that `in` names.
bool has_recorded_source(const InputGraph& in);

// Compiles the recorded source of `in` for `place`, whose target is that of the record. Takes the buffers and variables
// from the AST of `in`. Fails if the AST lacks one of them, if a launch size or an image's size
// cannot be read, if the source cannot be compiled, or if it does not take these arguments. Sets `is_invalid` if the
// source is at fault: it does not compile, or does not take the arguments.
Result<Executable> recorded_executable(const InputGraph& in, Placement& place, double compile_seconds,
                                       bool* is_invalid = nullptr);

// Returns `source`, an OpenCL kernel, preceded by constants with the size and the dtype of each image: NAME_w, NAME_h
// and NAME_half. The functions of the OpenCL device that read and write images use them, because an image is a buffer
// of rows of pixels of four floats or halves each. Fails if an image's name lacks its size, or if its buffer is
// missing, too small or of another dtype.
Result<std::string> with_image_sizes(std::string source, const std::vector<BufferSpec>& buffers);

}  // namespace tgc
