// Metal's texts, made ready for clang: a kernel's parameters have meanings that C++ does not know, and its threadgroup
// memory belongs to all threads of a group.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct MetalParameter {
  std::string name;
  bool is_reference = false;  // "constant int& n": its argument is the value's address, as a buffer's is the buffer's
  std::string position;       // what the library calls it: "thread_in_group"; empty: an argument of the launch
};

struct MetalKernel {
  std::string name;
  std::vector<MetalParameter> parameters;
};

// The kernels of a source. Throws Rejected, with the line, when a parameter is none that tgc knows.
std::vector<MetalKernel> metal_kernels(std::string_view source);

// The name of the function that runs one thread of a kernel: of type void(void* const* arguments, const Position*),
// where Position is that of lib/emulate/metal.
std::string metal_entry(std::string_view kernel);

// The source in C++ behind the library, with an entry for each kernel; its lines keep their numbers. Throws Rejected.
std::string metal_as_cpp(std::string_view source);

}  // namespace tgc
