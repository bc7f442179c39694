#pragma once

namespace tgc {

// Increments a counter of levels of nesting, and decrements it when the guard is destroyed, also by an exception.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { depth_++; }
  ~DepthGuard() { depth_--; }
  DepthGuard(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace tgc
