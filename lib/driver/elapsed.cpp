#include "lib/driver/elapsed.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>

namespace tgc {

Elapsed::Elapsed(const Session& session, std::string what) {
  if (!session.events) return;
  auto report = [&session, what = std::move(what)](const std::stop_token& stop) {
    constexpr int kFirst = 3;
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    for (int seconds = 1; stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }),
             !stop.stop_requested(); seconds++)
      if (seconds >= kFirst) session.progress(what + ": " + std::to_string(seconds) + " s");
  };
  try {
    thread_ = std::jthread(std::move(report));
  } catch (const std::system_error&) {
  }
}

}  // namespace tgc
