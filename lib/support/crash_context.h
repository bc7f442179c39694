// What a thread is at, for whoever must say what it died of: `tgc fuzz` names the graph that a fault of its own comes
// from, which else nobody would find among a million.
#pragma once
#include <string_view>

namespace tgc {

// From here on the thread is at `work`, as long as this lives; of a longer text the first kRoom bytes are kept. One
// inside another replaces it for good.
class CrashContext {
 public:
  static constexpr size_t kRoom = 1000;
  explicit CrashContext(std::string_view work);
  CrashContext(const CrashContext&) = delete;
  ~CrashContext();
};

// What the calling thread is at; empty: nothing of which anybody said so. In a signal handler, too: nothing is
// allocated.
std::string_view work_of_thread();

}  // namespace tgc
