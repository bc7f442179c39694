// DriverSandbox: the sandbox of a worker that calls drivers or external programs, which need to write files. The worker
// may write to a temporary folder of its own and to the paths that drivers write (driver_writable_paths). Construct it
// in the process that starts the worker.
#pragma once
#include <string>
#include <vector>

#include "lib/contain/contain.h"
#include "lib/contain/temporary_folder.h"

namespace tgc {

class DriverSandbox {
 public:
  DriverSandbox();  // throws Failure if the folder cannot be created

  const TemporaryFolder& folder() const { return folder_; }
  // Confines the calling worker to this sandbox, and sets TMPDIR to its folder. `memory` is the memory limit in bytes.
  // Throws Failure if the worker cannot be confined.
  void confine_process(Worker& worker, uint64_t memory) const;

 private:
  TemporaryFolder folder_;
  std::vector<std::string> writable_paths_;
};

}  // namespace tgc
