// A line of progress for what says nothing itself while it runs.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "lib/driver/session.h"

namespace tgc {

// While this lives, and from its third second on, the session's listener is told each second what runs and for how
// long: "r_4 on CUDA:PTX:sm_80, emulated: 12 s". Nothing where nobody listens, or where no thread can be started.
class Elapsed {
 public:
  Elapsed(const Session& session, std::string what);
  ~Elapsed();
  Elapsed(const Elapsed&) = delete;
  Elapsed& operator=(const Elapsed&) = delete;

 private:
  void tell();

  const Session& session_;
  std::string what_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace tgc
