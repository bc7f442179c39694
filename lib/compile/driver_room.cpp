#include "lib/compile/driver_room.h"

#include <cstdlib>

namespace tgc {

DriverSandbox::DriverSandbox() : writable_paths_(driver_writable_paths(folder_.path())) {}

void DriverSandbox::confine_process(Worker& worker, uint64_t memory) const {
  setenv("TMPDIR", folder_.path().c_str(), 1);
  worker.confine_process({.rights = WorkerRights::Driver, .memory_bytes = memory, .writable_paths = writable_paths_});
}

}  // namespace tgc
