// Reads kernels that were written by hand: files in CUDA, HIP, OpenCL, Metal, C or LLVM IR.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/compile/compile.h"

namespace tgc {

struct HandWrittenKernel {
  struct KernelParameter {
    std::string name;
    std::string type;         // for a pointer, the type of its elements: "float"; empty for LLVM IR's ptr
    bool is_pointer = false, is_const = false;
    bool is_builtin = false;  // true if launches pass no argument for it, as for Metal's [[thread_position_in_grid]]
  };
  std::string name;
  std::vector<KernelParameter> parameters;
};

std::vector<std::string> language_names();

// Returns the target for a source in `language` without --target: "CUDA" for "cuda". Fails for an unknown language.
Result<std::string> default_language_target(const std::string& language);

// Makes a source self-contained that was written for a compiler with headers: replaces macros without parameters and
// HIP's keywords, drops /* comments */, `#pragma unroll` and headers of CUDA and HIP that clang does not need, and
// declares kernels without mangling. Line numbers do not change. Fails for most other preprocessor directives. Returns
// LLVM IR and PTX unchanged.
Result<std::string> make_self_contained_source(Language language, std::string_view text);

// Returns the kernels of a source in their order, except templates. Fails if there is none.
Result<std::vector<HandWrittenKernel>> kernels_in_source(Language language, std::string_view source);

}  // namespace tgc
