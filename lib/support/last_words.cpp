#include "lib/support/last_words.h"

#include <algorithm>
#include <cstring>

namespace tgc {
namespace {

thread_local char text[AtWork::kRoom];
thread_local size_t size = 0;

}  // namespace

AtWork::AtWork(std::string_view work) {
  size = 0;  // a signal between the two finds nothing, never a mixture
  const size_t kept = std::min(work.size(), kRoom);
  std::memcpy(text, work.data(), kept);
  size = kept;
}
AtWork::~AtWork() { size = 0; }

std::string_view work_of_thread() { return {text, size}; }

}  // namespace tgc
