#include "lib/compile/engines.h"

#include <dlfcn.h>

#include <filesystem>

#include "lib/support/version.h"

namespace tgc {
namespace {

// Looks beside the executable or library that contains this code, then in ../lib/tgc of the executable's folder. If
// both lack the file, returns `file`, so that dlopen searches LD_LIBRARY_PATH. A run path in the executable would not
// work with AddressSanitizer, whose library is then the caller of dlopen.
std::string find_engine_library(const char* file) {
  namespace fs = std::filesystem;
  std::error_code error;
  Dl_info own;
  if (::dladdr(reinterpret_cast<void*>(&find_engine_library), &own) && own.dli_fname)
    if (fs::path beside = fs::canonical(own.dli_fname, error).parent_path() / file; fs::exists(beside, error))
      return beside.string();
  fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib/tgc" / file;
  return fs::exists(path, error) ? path.string() : file;
}

// noexcept, because neither the dynamic loader nor LLVM handles exceptions: std::bad_alloc from a constructor would
// leave their locks held, and the next function that needs a lock, even exit(), would wait forever.
void* open_library(const std::string& path) noexcept { return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL); }
template <class Engine>
Engine* make_engine(Engine* (*make)()) noexcept {
  return make();
}

template <class Engine>
Result<Engine*> load_engine(const char* file, const char* symbol, const char* packages) {
#ifndef TGC_LLVM
  return absent_part_error("the compilers LLVM, lld and clang", "TGC_LLVM");
#endif
  void* handle = open_library(find_engine_library(file));
  if (!handle) {
    const char* why = ::dlerror();
    return Diag{.message = std::string("cannot load ") + file + ": " + (why ? why : "unknown error"),
                .expected = std::string("a build of tgc with ") + packages};
  }
  auto* make = reinterpret_cast<Engine* (*)()>(::dlsym(handle, symbol));
  if (!make) return Diag{.message = std::string(file) + " has no " + symbol + ": it belongs to another version of tgc"};
  return make_engine(make);
}

}  // namespace

Result<LlvmEngine*> llvm_engine() {
  static Result<LlvmEngine*> engine =
      load_engine<LlvmEngine>("libtgc_llvm.so", "tgc_llvm_engine", "LLVM (Debian: llvm-19-dev)");
  return engine;
}

Result<LldEngine*> lld_engine() {
  static Result<LldEngine*> engine =
      load_engine<LldEngine>("libtgc_lld.so", "tgc_lld_engine", "lld (Debian: liblld-19-dev)");
  return engine;
}

Result<ClangEngine*> clang_engine() {
  static Result<ClangEngine*> engine =
      load_engine<ClangEngine>("libtgc_clang.so", "tgc_clang_engine", "clang (Debian: libclang-19-dev)");
  return engine;
}

}  // namespace tgc
