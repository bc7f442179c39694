// ScopedWatch: sets the watcher of a Compilation until the end of a scope.
#pragma once
#include "lib/compilation/compilation.h"

namespace tgc {

// Sets the watcher of a Compilation; the destructor removes it. Use this class if the watcher is destroyed before the
// Compilation. The destructor drops exceptions of Watcher::end(); to get them, call watch(nullptr) in the scope.
class ScopedWatch {
 public:
  ScopedWatch(Compilation& compilation, Watcher& watcher) : compilation_(compilation) {
    try {
      compilation_.watch(&watcher);
    } catch (...) {
      end();
      throw;
    }
  }
  ScopedWatch(const ScopedWatch&) = delete;
  ScopedWatch& operator=(const ScopedWatch&) = delete;
  ~ScopedWatch() { end(); }

 private:
  void end() noexcept {
    try {
      compilation_.watch(nullptr);
    } catch (...) {  // drop the exception, as ~Compilation does
    }
  }

  Compilation& compilation_;
};

}  // namespace tgc
