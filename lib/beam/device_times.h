// Times candidates on a device (DeviceTimes), or reads recorded times (ReplayTimes).
#pragma once
#include <unordered_map>

#include "lib/beam/beam_search.h"
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/runtime/contained_device.h"

namespace tgc {

class DeviceTimes : public TimeSource {
 public:
  struct TimingOptions {
    double timeout_seconds = 10;
    bool shrinks_grids = true;     // time a part of a large grid (BEAM_ESTIMATE)
    // empty: REF or, for slow kernels, the timed device
    std::string reference_device = {};
  };
  // `place` and `kernel` must outlive this object. Throws Failure if inputs for the kernel cannot be made.
  DeviceTimes(Placement& place, const SearchKernel& kernel, TimingOptions options);
  ~DeviceTimes() override;

  Device* compiling_device() override { return placement_.device.get(); }
  bool may_time_while_compiling() const override { return placement_.device->has_driver(); }
  void prepare_candidates(std::span<BeamCandidate* const> candidates) override;
  std::optional<double> time_candidate(const OptTexts& opts, BeamCandidate& candidate, double kept,
                                       CandidateLog& log) override;
  bool check_candidate(BeamCandidate& candidate, CandidateLog& log) override;

  // Times the candidates in turns, so that a drifting clock favours none. Slow candidates may get fewer turns. Returns
  // the least time of each; infinity if no run succeeds.
  std::vector<double> compare_times(std::span<BeamCandidate* const> candidates, int turns);

  const std::string& reference_label() const { return reference_label_; }

 private:
  struct TimedLaunch;
  struct TimingLimits;
  class CandidateHolder;
  Result<double> fastest_run_seconds(BeamCandidate& candidate, const TimingLimits& limits);
  Result<double> run_in_worker(BeamCandidate& candidate, const TimingLimits& limits);
  Result<WorkerProcess> start_worker();
  Result<double> run_on_driver(BeamCandidate& candidate, const TimingLimits& limits);
  const Arrays& expected_arrays();
  ContainedDevice& contained_driver();

  Placement& placement_;
  const SearchKernel& search_kernel_;
  TimingOptions options_;
  VariableValues variables_;
  std::vector<BufferSpec> buffer_specs_;
  Arrays input_arrays_;                  // arrays in memory that is shared with the workers
  std::optional<Arrays> expected_arrays_;
  std::string reference_label_;
  std::vector<BeamCandidate*> prepared_candidates_;
  std::optional<WorkerProcess> worker_process_;
  bool is_too_slow_ = false;
  std::unique_ptr<ContainedDevice> driver_device_;
  std::vector<DeviceBuffer> driver_buffers_;
};

// The part of a grid that is timed, and the size of the whole grid divided by the size of this part (tinygrad
// codegen/opt/search.py: get_test_global_size).
struct TimingGrid {
  std::array<uint32_t, 3> global_size;
  double time_factor;
};
TimingGrid make_timing_grid(std::array<uint32_t, 3> global, uint64_t most = 65536);

// Times that scripts/tools/beam_record wrote with the real tinygrad: JSON lines (FORMATS in README.md).
class ReplayTimes : public TimeSource {
 public:
  static Result<ReplayTimes> open(const std::string& path);

  CodeIdentity code_identity() const { return code_identity_; }
  const std::string& target() const { return target_; }
  size_t beam_width() const { return beam_width_; }
  bool has_kernel(const std::string& kernel) const { return kernel_times_.contains(kernel); }
  void begin_kernel(const std::string& kernel, Device* compiler) {
    current_times_ = &kernel_times_.at(kernel), compiling_device_ = compiler;
  }

  Device* compiling_device() override { return compiling_device_; }
  std::optional<double> time_candidate(const OptTexts& opts, BeamCandidate&, double kept, CandidateLog& log) override;

 private:
  using Times = std::unordered_map<std::string, double>;
  CodeIdentity code_identity_ = CodeIdentity::Source;
  std::string target_;
  size_t beam_width_ = 2;
  std::unordered_map<std::string, Times> kernel_times_;
  const Times* current_times_ = nullptr;
  Device* compiling_device_ = nullptr;
};

}  // namespace tgc
