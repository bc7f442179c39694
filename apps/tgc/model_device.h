// ModelDevice: computes tensors, or a tensor graph, on a device. It schedules their graph, lowers and compiles each kernel once (in parallel, through the
// compile cache), plans the memory, runs the kernels in order. Known values that lie in the host's memory as the device wants them, such
// as mapped weights, are used where they are.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/tgc/executable.h"
#include "apps/tgc/run_device.h"
#include "lib/model/tensor.h"
#include "lib/runtime/array.h"

namespace tgc {

struct KernelRun {
  std::string name;
  size_t item = 0;       // of the schedule
  double seconds = 0;    // of the fastest of the timed runs
};

// A kernel's arrays data0, data1, ... before and after it ran.
struct KernelTrial {
  std::string name;
  size_t number = 0;  // of the kernel, from 0
  UOp ast;
  VariableValues variables;
  Arrays before, after;
};

class ModelDevice {
 public:
  // `progress`, if any, is told what goes on.
  explicit ModelDevice(RunDevice& place, int jobs = 1, std::function<void(const std::string&)> progress = {});
  ~ModelDevice();

  struct Options {
    int timed_runs = 0;                                        // of all kernels, after the first, each kernel timed
    std::function<void(const KernelTrial&)> on_kernel = {};    // is shown what every kernel did
  };
  // The values of the tensors. Throws Failure.
  std::vector<Array> realize(std::span<const Tensor> tensors, const Options& options);
  std::vector<Array> realize(std::span<const Tensor> tensors) { return realize(tensors, Options()); }

  // A buffer of a schedule, as the array that is wanted of it.
  struct Wanted {
    size_t buffer;
    DType dtype;
    std::vector<int64_t> shape;
  };
  // Schedules a tensor graph; DEBUG tells of it.
  Schedule schedule(Graph& graph, UOp sink);
  // Runs a schedule whose input buffers have values (tensor_state). The wanted arrays. Throws Failure.
  std::vector<Array> run(Graph& graph, const Schedule& schedule, std::span<const Wanted> wanted, const Options& options);

  // Of the last realize.
  const std::vector<KernelRun>& runs() const { return runs_; }
  size_t kernels() const { return kernels_; }
  double run_seconds() const { return run_seconds_; }
  uint64_t bytes_before() const { return bytes_before_; }  // of the buffers between the kernels, each its own
  uint64_t bytes_after() const { return bytes_after_; }    // as planned

 private:
  struct Prepared;
  class Session;
  Prepared& prepared(UOp ast);
  void prepare_all(const Schedule& schedule);
  Prepared& prepare_and_tell(UOp ast);

  RunDevice& place_;
  int jobs_;
  std::function<void(const std::string&)> progress_;
  std::unordered_map<UOp, std::unique_ptr<Prepared>> prepared_;
  std::map<std::string, int> names_;  // of kernels, when DEBUG shows them
  std::vector<KernelRun> runs_;
  size_t kernels_ = 0;
  double run_seconds_ = 0;
  uint64_t bytes_before_ = 0, bytes_after_ = 0;
};

}  // namespace tgc
