// Reports the elapsed time as progress of operations that do not report progress themselves.
#pragma once
#include <string>
#include <thread>

#include "lib/driver/session.h"

namespace tgc {

// While this object lives, reports every second, from the third second on, what runs and for how long: "r_4 on
// CUDA:PTX:sm_80, emulated: 12 s". Does nothing if the session has no Events or if no thread can be started.
class Elapsed {
 public:
  Elapsed(const Session& session, std::string what);

 private:
  std::jthread thread_;
};

}  // namespace tgc
