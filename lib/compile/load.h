// Machine code in this process: a relocatable ELF object placed in memory, relocated and made executable. Needs no
// LLVM, so that a kernel from the cache runs without loading it. Mirrors tinygrad's runtime/support/elf.py
// (jit_loader); unlike there, calls out of the kernel (memset, half-precision conversions) are resolved.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

using Functions = std::map<std::string, void*, std::less<>>;  // by name

class LoadedCode {
 public:
  // `memory` of that many bytes is unmapped in the end.
  LoadedCode(void* memory, size_t size, Functions symbols)
      : memory_(memory), size_(size), symbols_(std::move(symbols)) {}
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  // A function of the object, or one of its sections (".text"); null when there is none of that name.
  void* symbol(std::string_view name) const {
    auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : found->second;
  }
  size_t size() const { return size_; }

 private:
  void* memory_;
  size_t size_;
  Functions symbols_;
};

// Loads the libraries that objects may call into, so that load_object opens no file after it.
void load_libraries();

// `object` is an ELF64 relocatable for this computer (x86-64 or AArch64). An error for anything else, for a relocation
// that is not known and for a symbol that this process does not have.
// `own` are functions that the object may call besides mathematics and memcpy and the like.
Result<std::shared_ptr<const LoadedCode>> load_object(std::string_view object, const Functions& own = {});

}  // namespace tgc
