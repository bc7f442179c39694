#pragma once
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/execute/executable.h"
#include "lib/execute/placement.h"

namespace tgc {

// Returns whether the record of `in` has a program and a source, and the target of `in` names a renderer.
bool has_recorded_source(const InputGraph& in);

// Compiles the recorded source of `in` for `place`, whose target is that of the record. Fails, for example, if the AST
// lacks a buffer or variable, if a size cannot be read, if the source does not compile, or if it does not take these
// arguments; the last two may set `is_invalid`.
Result<Executable> make_recorded_executable(const InputGraph& in, Placement& place, double compile_seconds,
                                            bool* is_invalid = nullptr);

// Returns `source`, an OpenCL kernel, preceded by the constants NAME_w, NAME_h and NAME_half of each image: an image is
// a buffer of rows of pixels of four floats or halves each. Fails if an image's name lacks its size, or if its buffer
// is missing, too small or of another dtype.
Result<std::string> source_with_image_sizes(std::string source, const std::vector<BufferSpec>& buffers);

}  // namespace tgc
