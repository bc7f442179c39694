// Loads a code object: LLVM disassembles it, the kernels are translated, and the image is copied into device memory.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "lib/emulate/hip/code.h"
#include "lib/emulate/hip/code_object.h"

namespace tgc::hip {

class LoadedModule {
 public:
  // Fails on a malformed file and on an unsupported instruction, which the error names. With `watches`, wait
  // instructions become operations that are checked (waits.h). The image is allocated in `memory`, which must outlive
  // the module.
  static Result<std::unique_ptr<LoadedModule>> load(std::string_view bytes, Memory& memory, bool watches);
  ~LoadedModule();

  const Code* kernel(std::string_view name) const;  // null if there is no kernel of that name
  const std::vector<std::unique_ptr<Code>>& kernels() const { return kernels_; }
  uint64_t base() const { return image_; }  // host address of the image

 private:
  explicit LoadedModule(Memory& memory) : memory_(memory) {}

  Memory& memory_;
  uint64_t image_ = 0;
  std::string listing_;
  std::vector<std::unique_ptr<Code>> kernels_;
};

}  // namespace tgc::hip
