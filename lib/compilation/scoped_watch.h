// A watcher for a while: for one that ends before the Compilation does.
#pragma once
#include "lib/compilation/compilation.h"

namespace tgc {

// The Compilation tells `watcher` until this ends, also when an exception ends it (memory that has run out): the
// Compilation would else tell one that is gone. To hear what the watcher throws in the end, watch(nullptr) before.
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
    } catch (...) {  // as in ~Compilation
    }
  }

  Compilation& compilation_;
};

}  // namespace tgc
