// Translates Metal sources to C++ for clang: kernel parameters get their attributes' values from a Position, and
// threadgroup memory becomes shared by all threads of a group.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct MetalParameter {
  std::string name;
  // true for "constant int& n": the argument is the address of the value; for a pointer it is the buffer's address
  bool is_reference = false;
  // the library's function for the parameter's position attribute: "thread_in_group"; empty for a launch argument
  std::string position;
};

struct MetalKernel {
  std::string name;
  std::vector<MetalParameter> parameters;
};

// Finds the kernels of a source. Throws Rejected, with the line, for a parameter that tgc does not support.
std::vector<MetalKernel> metal_kernels(std::string_view source);

// The name of a kernel's function for one thread, of type metal::Entry (lib/emulate/metal/grid.h).
std::string metal_entry(std::string_view kernel);

// Returns C++: the library, the source with unchanged line numbers, and an entry function per kernel. Throws Rejected.
std::string metal_as_cpp(std::string_view source);

}  // namespace tgc
