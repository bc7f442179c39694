// Translates Metal sources to C++ for clang. An entry function computes kernel parameters with position attributes from
// the thread's Position. Threadgroup memory becomes memory that all threads of a group share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct MetalParameter {
  std::string name;
  // true for a parameter such as "constant int& n", whose argument is the address of the value
  bool is_reference = false;
  // function of the library (library.h) that computes a position parameter, such as "thread_in_group"; else empty
  std::string position;
};

struct MetalKernel {
  std::string name;
  std::vector<MetalParameter> parameters;
};

// Throws RejectedSource, with the line, for parameters that tgc does not support.
std::vector<MetalKernel> find_metal_kernels(std::string_view source);

// Returns the name of a kernel's function for one thread, of type metal::KernelFunction (lib/emulate/metal/grid.h).
std::string metal_entry_name(std::string_view kernel);

// Returns C++: the library, the source with unchanged line numbers, and an entry function per kernel. Throws
// RejectedSource for code that tgc does not support.
std::string convert_metal_to_cpp(std::string_view source);

}  // namespace tgc
