#include "lib/driver/elapsed.h"

#include <chrono>
#include <system_error>

namespace tgc {

Elapsed::Elapsed(const Session& session, std::string what) : session_(session), what_(std::move(what)) {
  if (!session.events) return;
  try {
    thread_ = std::thread([this] { report(); });
  } catch (const std::system_error&) {
  }
}

Elapsed::~Elapsed() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Elapsed::report() {
  constexpr int kFirst = 3;
  std::unique_lock lock(mutex_);
  for (int seconds = 1; !ends_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; }); seconds++)
    if (seconds >= kFirst) session_.progress(what_ + ": " + std::to_string(seconds) + " s");
}

}  // namespace tgc
