// DriverRoom: what a worker is confined to that calls drivers or other programs, which want files: a folder of its own
// and the caches of drivers. Everything else is to be read only. Made in the process that starts the worker.
#pragma once
#include <string>
#include <vector>

#include "lib/compile/process.h"
#include "lib/contain/contain.h"

namespace tgc {

class DriverRoom {
 public:
  DriverRoom();  // throws Failure

  const TemporaryFolder& folder() const { return folder_; }
  // In the worker; throws Failure. `memory` as in Confinement.
  void confine(Worker& worker, uint64_t memory) const;

 private:
  TemporaryFolder folder_;
  std::vector<std::string> writable_;
};

}  // namespace tgc
