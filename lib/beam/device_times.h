// Times of candidates on a device, and whether what they compute is right.
//
// Candidates run in a worker process that may do nothing but compute (lib/contain), so one that crashes, never ends or
// means harm is left out with the reason, and the next ones get another worker. On the CPU a worker holds all
// candidates that are ready, the clock is read within it, around the launch alone, and the arrays lie in memory that
// all workers share: what is measured is what `tgc run --bench` measures. A device with a driver keeps one for the
// whole search.
#pragma once
#include "lib/beam/beam_search.h"
#include "lib/execute/execution.h"
#include "lib/execute/placement.h"
#include "lib/runtime/contained_device.h"

namespace tgc {

class DeviceTimes : public TimeSource {
 public:
  struct Options {
    double timeout_seconds = 10;   // of one candidate
    bool shrink_grids = true;      // BEAM_ESTIMATE
    std::string reference = {};    // a device; empty: REF, of a kernel with much to do the device itself without opts
  };
  // Arrays are drawn from seed 0 for the kernel as it was given. `place` and `kernel` outlive this. Throws Failure.
  DeviceTimes(Placement& place, const SearchKernel& kernel, Options options);
  ~DeviceTimes() override;

  Device* compiler() override { return place_.device.get(); }
  bool apart() const override { return place_.device->has_driver(); }
  void ready(std::span<Candidate* const> candidates) override;
  std::optional<double> time(const OptTexts& opts, Candidate& candidate, double kept, CandidateLog& log) override;
  bool check(Candidate& candidate, CandidateLog& log) override;

  // The fastest run of each; they take turns, so that a clock that drifts favours none. One that is far behind after a
  // turn or two takes part in no other, but for the first; one that fails takes forever.
  std::vector<double> compare(std::span<Candidate* const> candidates, int turns);

  const std::string& reference() const { return reference_label_; }

 private:
  struct Launch;
  struct Patience;
  class Holder;
  Result<double> fastest_run(Candidate& candidate, const Patience& patience);
  Result<double> run_in_worker(Candidate& candidate, const Patience& patience);
  Result<WorkerProcess> start_worker();
  Result<double> run_on_driver(Candidate& candidate, const Patience& patience);
  const Arrays& expected();
  ContainedDevice& driver();

  Placement& place_;
  const SearchKernel& kernel_;
  Options options_;
  VariableValues variables_;
  std::vector<BufferSpec> buffers_;
  Arrays inputs_;                        // on the CPU shared with the workers
  std::optional<Arrays> expected_;
  std::string reference_label_;
  std::vector<Candidate*> ready_;        // what the next worker holds
  std::optional<WorkerProcess> worker_;
  bool is_too_slow_ = false;             // why the last one has no time
  std::unique_ptr<ContainedDevice> driver_;
  std::vector<DeviceBuffer> on_driver_;  // inputs_, there
};

// A grid that is timed in place of a large one, and how many times as much the large one is (search.py:
// get_test_global_size).
struct TestGrid {
  std::array<uint32_t, 3> global;
  double factor;
};
TestGrid test_grid(std::array<uint32_t, 3> global, uint64_t most = 65536);

}  // namespace tgc
