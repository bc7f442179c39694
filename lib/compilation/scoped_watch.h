// ScopedWatch: sets the watcher of a Compilation for one scope.
#pragma once
#include "lib/compilation/compilation.h"

namespace tgc {

// Sets the watcher of a Compilation, and removes it in the destructor. Use this for a watcher that is destroyed before
// the Compilation. The destructor drops exceptions of Watcher::end; to get them, call watch(nullptr) before the scope
// ends.
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
    } catch (...) {  // the exception is dropped, as in ~Compilation
    }
  }

  Compilation& compilation_;
};

}  // namespace tgc
