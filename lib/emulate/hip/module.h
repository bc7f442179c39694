// A loaded code object: disassembled by LLVM, its kernels translated, its image placed in memory.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "lib/emulate/hip/code.h"
#include "lib/emulate/hip/code_object.h"

namespace tgc::hip {

class LoadedModule {
 public:
  // An error says what is wrong with the file, or names the instruction that is not known. With `watches` waits are
  // kept, to be watched. The image lies in `memory`, which must outlive the module.
  static Result<std::unique_ptr<LoadedModule>> load(std::string_view bytes, Memory& memory, bool watches);
  ~LoadedModule();

  const Code* kernel(std::string_view name) const;  // null: there is none
  const std::vector<std::unique_ptr<Code>>& kernels() const { return kernels_; }

 private:
  explicit LoadedModule(Memory& memory) : memory_(memory) {}

  Memory& memory_;
  uint64_t image_ = 0;
  std::string listing_;
  std::vector<std::unique_ptr<Code>> kernels_;
};

}  // namespace tgc::hip
