#include "lib/beam/device_times.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/contain/bytes.h"
#include "lib/execute/lower.h"
#include "lib/runtime/host_device.h"
#include "lib/uop/copy.h"
#include "lib/validate/input_distribution.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

constexpr int kRuns = 3;               // as tinygrad
constexpr int kMostRuns = 100;         // of a kernel so short that the clock's noise is more than it
constexpr double kEnoughSeconds = 1e-3;
constexpr double kHopeless = 3;        // times what would be kept, as tinygrad
constexpr double kBehind = 1.25;       // the same of runs long enough to tell
constexpr double kHiccup = 0.02;       // seconds that something else may take the processor for
constexpr double kStopped = 2;         // the same of one that has not ended
constexpr double kNewWorker = 0.03;    // seconds
constexpr uint64_t kKernelMemory = uint64_t(1) << 30;
constexpr double kMostForRef = 3e7;    // operations: what REF does in about a second

DeviceBuffer buffer_of(const Array& array) {
  return {reinterpret_cast<uint64_t>(array.data()), 0, array.nbytes()};
}

}  // namespace

// How often a candidate runs.
struct DeviceTimes::Patience {
  double kept = INFINITY;  // one that takes much longer is given up
  int runs = kRuns;        // at least, of one that is not

  // Seconds after which one that runs is stopped. To get another worker takes some of them.
  double limit() const { return kStopped * kept * runs + kNewWorker; }
  // The fastest run of all of it, of which each run does one of `factor` parts.
  template <class Run>
  double fastest(double factor, Run&& run) const {
    double out = INFINITY, sum = 0;
    for (int n = 0; n < runs || (sum < kEnoughSeconds && n < kMostRuns) || (n == 1 && sum < kHiccup); n++) {
      double seconds = run();
      out = std::min(out, seconds * factor), sum += seconds;
      bool is_sure = n > 0 || seconds > kHiccup;  // else one run may have been unlucky
      if (is_sure && out > kept * (sum < kEnoughSeconds ? kHopeless : kBehind)) break;
    }
    return out;
  }
};

TestGrid test_grid(std::array<uint32_t, 3> global, uint64_t most) {
  auto size = [&] { return uint64_t(global[0]) * global[1] * global[2]; };
  uint64_t before = size();
  while (size() > most) {
    size_t j = 3;
    while (j > 0 && global[j - 1] <= 16) j--;
    if (j == 0) break;
    global[j - 1] /= 2;
  }
  return {global, double(before) / double(size())};
}

// A candidate's launch on given buffers.
struct DeviceTimes::Launch {
  std::vector<int64_t> values;
  std::vector<DeviceBuffer> buffers;
  LaunchSize size;
  double factor = 1;

  Launch(const DeviceTimes& times, const Executable& e, std::span<const DeviceBuffer> all) {
    values = std::move(e.arguments(times.variables_).value_or_throw());
    size = e.launch_size(times.variables_).value_or_throw();
    if (times.options_.shrink_grids) {
      TestGrid grid = test_grid(size.global);
      size.global = grid.global, factor = grid.factor;
    }
    for (const BufferSpec& b : e.buffers()) {
      auto it = std::ranges::find(times.buffers_, b.number, &BufferSpec::number);
      if (it == times.buffers_.end()) throw Failure("a candidate has a buffer that its kernel has not");
      buffers.push_back(all[size_t(it - times.buffers_.begin())]);
    }
  }
  LaunchArguments arguments() const { return {buffers, values, size}; }
};

DeviceTimes::DeviceTimes(Placement& place, const SearchKernel& kernel, Options options)
    : place_(place), kernel_(kernel), options_(std::move(options)), variables_(kernel.variables()) {
  UOp ast = kernel.compilation().ast();
  buffers_ = buffers_of(toposort(ast));
  Arrays drawn =
      std::move(input_arrays(buffers_, {}, "", input_distribution(ast)).value_or_throw());
  for (NamedArray& a : drawn) {
    Array shared = Array::shared(a.array.dtype(), {a.array.shape().begin(), a.array.shape().end()});
    std::memcpy(shared.data(), a.array.data(), a.array.nbytes());
    inputs_.push_back({a.name, std::move(shared)});
  }
}

DeviceTimes::~DeviceTimes() = default;

std::optional<double> DeviceTimes::time(const OptTexts&, Candidate& candidate, double kept, CandidateLog& log) {
  auto seconds = fastest_run(candidate, {.kept = kept, .runs = apart() ? kRuns : 1});
  if (seconds) return *seconds;
  log.fate = is_too_slow_ ? Fate::TooSlow : Fate::Failed, log.why = seconds.diag().message;
  return std::nullopt;
}

Result<double> DeviceTimes::fastest_run(Candidate& candidate, const Patience& patience) {
  return place_.device->has_driver() ? run_on_driver(candidate, patience) : run_in_worker(candidate, patience);
}

// In the worker: candidates that are loaded, and asked for by number.
class DeviceTimes::Holder {
 public:
  explicit Holder(DeviceTimes& times) {
    Device& device = *times.place_.device;
    device.open().value_or_throw();
    std::vector<DeviceBuffer> buffers;
    for (const NamedArray& a : times.inputs_) buffers.push_back(buffer_of(a.array));
    size_t threads = 1;
    for (Candidate* candidate : times.ready_) {
      auto loaded = catch_failures([&] {
        if (!candidate->executable) throw Failure("it was not compiled");
        Launch launch(times, *candidate->executable, buffers);
        threads = std::max<size_t>(threads, launch.size.global[0]);
        return std::pair(std::move(candidate->executable->load(device).value_or_throw()), std::move(launch));
      });
      held_.push_back(std::move(loaded));
    }
    device.settle(threads);
  }

  Result<std::string> time(size_t number, const Patience& patience) {
    return catch_failures([&] {
      auto& [kernel, launch] = held_.at(number).value_or_throw();
      double seconds =
          patience.fastest(launch.factor, [&] { return kernel->time(launch.arguments()).value_or_throw(); });
      return ByteWriter().raw(&seconds, sizeof seconds).take();
    });
  }

 private:
  std::vector<Result<std::pair<std::unique_ptr<Kernel>, Launch>>> held_;
};

void DeviceTimes::ready(std::span<Candidate* const> candidates) {
  worker_.reset();
  ready_.assign(candidates.begin(), candidates.end());
}

Result<WorkerProcess> DeviceTimes::start_worker() {
  return WorkerProcess::start([&](Worker& self) -> Status {
    return catch_failures([&]() -> Unit {
      Holder holder(*this);
      self.confine({.rights = Rights::Compute, .memory = kKernelMemory});
      for (;;) {
        std::string message = self.next_message();
        ByteReader in(message);
        size_t number = in.number();
        Patience patience;
        in.raw(&patience, sizeof patience);
        self.answer(holder.time(number, patience));
      }
    });
  });
}

Result<double> DeviceTimes::run_in_worker(Candidate& candidate, const Patience& patience) {
  auto it = std::ranges::find(ready_, &candidate);
  if (it == ready_.end()) {
    Candidate* alone = &candidate;
    ready({&alone, 1});
    it = ready_.begin();
  }
  if (!worker_) {
    auto started = start_worker();
    if (!started) return started.diag();
    worker_.emplace(std::move(*started));
  }
  ByteWriter message;
  message.number(size_t(it - ready_.begin())).raw(&patience, sizeof patience);
  (void)worker_->send(message.take());  // one that is dead says so in its answer
  double limit = std::min(options_.timeout_seconds, patience.limit());
  auto answer = worker_->receive(limit);
  is_too_slow_ = worker_->death() && worker_->death()->timed_out && limit < options_.timeout_seconds;
  if (!answer && worker_->death()) worker_.reset();
  return catch_failures([&] {
    double seconds = 0;
    ByteReader(answer.value_or_throw()).raw(&seconds, sizeof seconds);
    return seconds;
  });
}

ContainedDevice& DeviceTimes::driver() {
  if (driver_) return *driver_;
  driver_ = std::make_unique<ContainedDevice>(*place_.device, place_.label, options_.timeout_seconds);
  driver_->open().value_or_throw();
  on_driver_.clear();
  for (const NamedArray& a : inputs_) {
    on_driver_.push_back(driver_->allocate(a.array.nbytes()).value_or_throw());
    driver_->copy_in(on_driver_.back(), a.array.data()).value_or_throw();
  }
  return *driver_;
}

Result<double> DeviceTimes::run_on_driver(Candidate& candidate, const Patience& patience) {
  auto out = catch_failures([&] {
    ContainedDevice& device = driver();
    auto kernel = std::move(candidate.executable->load(device).value_or_throw());
    Launch launch(*this, *candidate.executable, on_driver_);
    return patience.fastest(launch.factor, [&] { return kernel->time(launch.arguments()).value_or_throw(); });
  });
  if (!out) driver_.reset();  // the worker may be dead: the next candidate gets another
  return out;
}

std::vector<double> DeviceTimes::compare(std::span<Candidate* const> candidates, int turns) {
  ready(candidates);
  std::vector<double> fastest(candidates.size(), INFINITY);
  double best = INFINITY;
  for (int turn = 0; turn < turns; turn++)
    for (size_t i = 0; i < candidates.size(); i++) {
      int least = i == 0 ? turns : fastest[i] < kHiccup ? 2 : 1;
      if (turn >= least && !(fastest[i] <= kBehind * best)) continue;
      if (auto seconds = fastest_run(*candidates[i], {.runs = 1})) fastest[i] = std::min(fastest[i], *seconds);
      best = std::min(best, fastest[i]);
    }
  return fastest;
}

// ---- what it should compute

const Arrays& DeviceTimes::expected() {
  if (expected_) return *expected_;
  UOp ast = kernel_.compilation().ast();
  const Settings& settings = kernel_.graph().settings();
  CandidateSpec plain{.target = kernel_.target(), .settings = settings, .variables = variables_, .uops_max = 0,
                      .device = place_.device.get()};
  Candidate without_opts = candidate_of(kernel_, {}, plain);
  bool much = without_opts.fate != Fate::Timed || without_opts.ops > kMostForRef;
  ExecuteOptions execution{.timeout_seconds = 600};
  if (options_.reference.empty() && much && without_opts.executable) {
    reference_label_ = place_.label + " without opts";
    expected_ = std::move(
        execute(*without_opts.executable, *place_.device, inputs_, variables_, execution).value_or_throw().outputs);
    return *expected_;
  }
  Placement other = std::move(
      choose_placement(options_.reference.empty() ? "REF" : options_.reference, "", settings).value_or_throw());
  reference_label_ = other.label;
  Graph own(settings);
  Executable same = std::move(make_executable({.root = copy_into(own, ast)}, other).value_or_throw());
  Arrays inputs = std::move(input_arrays(same.buffers(), inputs_, "", std::nullopt).value_or_throw());
  expected_ = std::move(execute(same, *other.device, inputs, variables_, execution).value_or_throw().outputs);
  return *expected_;
}

bool DeviceTimes::check(Candidate& candidate, CandidateLog& log) {
  auto status = catch_failures([&] {
    const Arrays& wanted = expected();
    Arrays inputs =
        std::move(input_arrays(candidate.executable->buffers(), inputs_, "", std::nullopt).value_or_throw());
    ExecuteOptions execution{.timeout_seconds = options_.timeout_seconds};
    Arrays made = std::move(
        execute(*candidate.executable, *place_.device, inputs, variables_, execution).value_or_throw().outputs);
    UOp ast = kernel_.compilation().ast();
    auto compared = ReferenceRunner(inputs, variables_).compare(ast, made, wanted);
    for (const Comparison& c : compared.value_or_throw())
      if (!c.passed()) throw Failure(c.text());
    return Unit{};
  });
  if (status) return true;
  log.fate = Fate::Wrong;
  log.why = status.diag().message;
  return false;
}

}  // namespace tgc
