#include "lib/compile/llvm_engine/contain.h"

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>

#include <mutex>
#include <new>

namespace tgc {
namespace {

thread_local std::string fatal_message;

void keep_fatal_message(void*, const char* message, bool) { fatal_message = message; }

// Otherwise LLVM would abort. Installed before LLVM's first allocation.
[[noreturn]] void no_memory(void*, const char*, bool) { throw std::bad_alloc(); }
__attribute__((constructor(101))) void throw_without_memory() {
  llvm::remove_bad_alloc_error_handler();  // of another engine that shares this LLVM
  llvm::install_bad_alloc_error_handler(no_memory);
}

// Installs LLVM's signal handlers only while a compilation runs, because kernels in this process use other handlers.
class Handlers {
 public:
  Handlers() {
    std::lock_guard lock(mutex_);
    if (users_++) return;
    llvm::install_fatal_error_handler(keep_fatal_message);
    llvm::CrashRecoveryContext::Enable();
  }
  ~Handlers() {
    std::lock_guard lock(mutex_);
    if (--users_) return;
    llvm::CrashRecoveryContext::Disable();
    llvm::remove_fatal_error_handler();
  }

 private:
  static inline std::mutex mutex_;
  static inline int users_ = 0;
};

}  // namespace

std::string run_contained_work(const std::function<void()>& work) {
  Handlers handlers;
  fatal_message.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely([&] { work(); })) return {};
  return fatal_message.empty() ? "the compiler crashed" : fatal_message;
}

}  // namespace tgc
