// Loads machine code into this process, without LLVM. Mirrors tinygrad's runtime/support/elf.py (jit_loader), but
// resolves more calls out of the kernel (memset, half-precision conversions).
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

using FunctionTable = std::map<std::string, void*, std::less<>>;

class LoadedCode {
 public:
  // Takes ownership of `memory`, a mapping of `size` bytes that the destructor unmaps.
  LoadedCode(void* memory, size_t size, FunctionTable symbols)
      : code_memory_(memory), size_bytes_(size), symbols_(std::move(symbols)) {}
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  // Returns the address of a function or section (".text") of the object; null if there is none of that name.
  void* symbol(std::string_view name) const {
    auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : found->second;
  }
  size_t size() const { return size_bytes_; }

 private:
  void* code_memory_;
  size_t size_bytes_;
  FunctionTable symbols_;
};

// Loads the libraries that loaded code may call. Must be called before the process gives up the right to open files.
void load_runtime_libraries();

// Loads `object`, an ELF64 relocatable for this computer (x86-64 or AArch64). Besides libm, libgcc and memory functions
// such as memcpy, it may call the functions in `own`. Fails, for example, for any other file, an unsupported
// relocation, or an unknown symbol.
Result<std::shared_ptr<const LoadedCode>> load_object(std::string_view object, const FunctionTable& own = {});

}  // namespace tgc
