#include "lib/beam/device_times.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/contain/bytes.h"
#include "lib/execute/lower.h"
#include "lib/records/input_file.h"
#include "lib/runtime/host_device.h"
#include "lib/uop/graph.h"
#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

namespace {

constexpr int kRuns = 3;                      // minimum number of runs for a time on a device with a driver
constexpr int kMostRuns = 100;                // a short kernel runs until kEnoughSeconds, at most this often
constexpr double kEnoughSeconds = 1e-3;
constexpr double kSlowFactor = 3;             // candidates slower than 3 * keep limit are not run again
constexpr double kReliableSlowFactor = 1.25;  // replaces kSlowFactor if the runs are long enough to be reliable
constexpr double kDelaySeconds = 0.02;        // another process may delay a run by this time
constexpr double kStopFactor = 2;             // see TimingLimits::limit()
constexpr double kWorkerStartSeconds = 0.03;
constexpr uint64_t kKernelMemory = uint64_t(1) << 30;
constexpr double kMostForRef = 3e7;           // REF is too slow for a kernel with more operations

DeviceBuffer buffer_of_array(const Array& array) {
  return {reinterpret_cast<uint64_t>(array.data()), 0, array.nbytes()};
}

}  // namespace

struct DeviceTimes::TimingLimits {
  // The parameter `keep_limit` of TimeSource::time_candidate(), in seconds.
  double keep_limit = INFINITY;
  int min_runs = kRuns;        // a candidate that is much slower than `keep_limit` may run less often

  double limit_seconds() const { return kStopFactor * keep_limit * min_runs + kWorkerStartSeconds; }
  // Calls `run` repeatedly, and returns the least of the times that it returns, times `factor`.
  template <class Run>
  double fastest_seconds(double factor, Run&& run) const {
    double out = INFINITY, sum = 0;
    for (int n = 0; n < min_runs || (sum < kEnoughSeconds && n < kMostRuns) || (n == 1 && sum < kDelaySeconds); n++) {
      double seconds = run();
      out = std::min(out, seconds * factor), sum += seconds;
      // another process may have delayed a short first run, so run again
      bool is_sure = n > 0 || seconds > kDelaySeconds;
      if (is_sure && out > keep_limit * (sum < kEnoughSeconds ? kSlowFactor : kReliableSlowFactor)) break;
    }
    return out;
  }
};

TimingGrid make_timing_grid(std::array<uint32_t, 3> global, uint64_t most) {
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

struct DeviceTimes::TimedLaunch {
  std::vector<int64_t> variable_values;
  std::vector<DeviceBuffer> buffers;
  LaunchSize size;
  double time_factor = 1;

  TimedLaunch(const DeviceTimes& times, const Executable& e, std::span<const DeviceBuffer> all) {
    variable_values = std::move(e.variable_arguments(times.variables_).value_or_throw());
    size = e.launch_size(times.variables_).value_or_throw();
    if (times.options_.shrinks_grids) {
      TimingGrid grid = make_timing_grid(size.global_size);
      size.global_size = grid.global_size, time_factor = grid.time_factor;
    }
    for (const BufferSpec& b : e.buffers()) {
      auto it = std::ranges::find(times.buffer_specs_, b.argument_number, &BufferSpec::argument_number);
      if (it == times.buffer_specs_.end()) throw Failure("a candidate has a buffer that its kernel lacks");
      buffers.push_back(all[size_t(it - times.buffer_specs_.begin())]);
    }
  }
  LaunchArguments arguments() const { return {buffers, variable_values, size}; }
};

DeviceTimes::DeviceTimes(Placement& place, const SearchKernel& kernel, TimingOptions options)
    : placement_(place), search_kernel_(kernel), options_(std::move(options)), variables_(kernel.variables()) {
  UOp ast = kernel.compilation().ast();
  buffer_specs_ = buffers_of_nodes(toposort(ast));
  Arrays drawn =
      std::move(make_input_arrays(buffer_specs_, {}, "", make_input_distribution(ast)).value_or_throw());
  for (NamedArray& a : drawn) {
    Array shared = Array::allocate_shared(a.array.dtype(), {a.array.shape().begin(), a.array.shape().end()});
    std::memcpy(shared.data(), a.array.data(), a.array.nbytes());
    input_arrays_.push_back({a.name, std::move(shared)});
  }
}

DeviceTimes::~DeviceTimes() = default;

std::optional<double> DeviceTimes::time_candidate(const OptTexts&, BeamCandidate& candidate, double keep_limit,
                                                  CandidateLog& log) {
  auto seconds =
      fastest_run_seconds(candidate, {.keep_limit = keep_limit, .min_runs = may_time_while_compiling() ? kRuns : 1});
  if (seconds) return *seconds;
  log.outcome = is_too_slow_ ? CandidateOutcome::TooSlow : CandidateOutcome::Failed,
  log.failure_reason = seconds.diag().message;
  return std::nullopt;
}

Result<double> DeviceTimes::fastest_run_seconds(BeamCandidate& candidate, const TimingLimits& limits) {
  return placement_.device->has_driver() ? run_on_driver(candidate, limits) : run_in_worker(candidate, limits);
}

class DeviceTimes::CandidateHolder {
 public:
  explicit CandidateHolder(DeviceTimes& times) {
    Device& device = *times.placement_.device;
    device.open().value_or_throw();
    std::vector<DeviceBuffer> buffers;
    for (const NamedArray& a : times.input_arrays_) buffers.push_back(buffer_of_array(a.array));
    size_t threads = 1;
    for (BeamCandidate* candidate : times.prepared_candidates_) {
      auto loaded = catch_failures([&] {
        if (!candidate->executable) throw Failure("the candidate was not compiled");
        TimedLaunch launch(times, *candidate->executable, buffers);
        threads = std::max<size_t>(threads, launch.size.global_size[0]);
        return std::pair(std::move(candidate->executable->load(device).value_or_throw()), std::move(launch));
      });
      loaded_candidates_.push_back(std::move(loaded));
    }
    device.prepare_launches(threads);
  }

  Result<std::string> time_prepared(size_t number, const TimingLimits& limits) {
    return catch_failures([&] {
      auto& [kernel, launch] = loaded_candidates_.at(number).value_or_throw();
      double seconds = limits.fastest_seconds(launch.time_factor,
                                              [&] { return kernel->time_launch(launch.arguments()).value_or_throw(); });
      return ByteWriter().write_bytes(&seconds, sizeof seconds).take_bytes();
    });
  }

 private:
  std::vector<Result<std::pair<std::unique_ptr<Kernel>, TimedLaunch>>> loaded_candidates_;
};

void DeviceTimes::prepare_candidates(std::span<BeamCandidate* const> candidates) {
  worker_process_.reset();
  prepared_candidates_.assign(candidates.begin(), candidates.end());
}

Result<WorkerProcess> DeviceTimes::start_worker() {
  return WorkerProcess::start([&](Worker& self) -> Status {
    return catch_failures([&]() -> Unit {
      CandidateHolder holder(*this);
      self.confine_process({.rights = WorkerRights::Compute, .memory_bytes = kKernelMemory});
      for (;;) {
        std::string message = self.next_message();
        ByteReader in(message);
        size_t number = in.read_number();
        TimingLimits limits;
        in.read_bytes(&limits, sizeof limits);
        self.send_answer(holder.time_prepared(number, limits));
      }
    });
  });
}

Result<double> DeviceTimes::run_in_worker(BeamCandidate& candidate, const TimingLimits& limits) {
  auto it = std::ranges::find(prepared_candidates_, &candidate);
  if (it == prepared_candidates_.end()) {
    BeamCandidate* alone = &candidate;
    prepare_candidates({&alone, 1});
    it = prepared_candidates_.begin();
  }
  if (!worker_process_) {
    auto started = start_worker();
    if (!started) return started.diag();
    worker_process_.emplace(std::move(*started));
  }
  ByteWriter message;
  message.write_number(size_t(it - prepared_candidates_.begin())).write_bytes(&limits, sizeof limits);
  (void)worker_process_->send(message.take_bytes());  // the answer reports a dead worker
  double limit_seconds = std::min(options_.timeout_seconds, limits.limit_seconds());
  auto answer = worker_process_->receive_answer(limit_seconds);
  is_too_slow_ = worker_process_->worker_exit() && worker_process_->worker_exit()->has_timed_out &&
                 limit_seconds < options_.timeout_seconds;
  if (!answer && worker_process_->worker_exit()) worker_process_.reset();
  return catch_failures([&] {
    double seconds = 0;
    ByteReader(answer.value_or_throw()).read_bytes(&seconds, sizeof seconds);
    return seconds;
  });
}

ContainedDevice& DeviceTimes::contained_driver() {
  if (driver_device_) return *driver_device_;
  driver_device_ = std::make_unique<ContainedDevice>(*placement_.device, placement_.label, options_.timeout_seconds);
  driver_device_->open().value_or_throw();
  driver_buffers_.clear();
  for (const NamedArray& a : input_arrays_) {
    driver_buffers_.push_back(driver_device_->allocate(a.array.nbytes()).value_or_throw());
    driver_device_->copy_in(driver_buffers_.back(), a.array.data()).value_or_throw();
  }
  return *driver_device_;
}

Result<double> DeviceTimes::run_on_driver(BeamCandidate& candidate, const TimingLimits& limits) {
  auto out = catch_failures([&] {
    ContainedDevice& device = contained_driver();
    auto kernel = std::move(candidate.executable->load(device).value_or_throw());
    TimedLaunch launch(*this, *candidate.executable, driver_buffers_);
    return limits.fastest_seconds(launch.time_factor,
                                  [&] { return kernel->time_launch(launch.arguments()).value_or_throw(); });
  });
  if (!out) driver_device_.reset();  // the worker may be dead
  return out;
}

std::vector<double> DeviceTimes::compare_times(std::span<BeamCandidate* const> candidates, int turns) {
  prepare_candidates(candidates);
  std::vector<double> fastest(candidates.size(), INFINITY);
  double best = INFINITY;
  for (int turn = 0; turn < turns; turn++)
    for (size_t i = 0; i < candidates.size(); i++) {
      int least = i == 0 ? turns : fastest[i] < kDelaySeconds ? 2 : 1;
      if (turn >= least && !(fastest[i] <= kReliableSlowFactor * best)) continue;
      if (auto seconds = fastest_run_seconds(*candidates[i], {.min_runs = 1}))
        fastest[i] = std::min(fastest[i], *seconds);
      best = std::min(best, fastest[i]);
    }
  return fastest;
}

const Arrays& DeviceTimes::expected_arrays() {
  if (expected_arrays_) return *expected_arrays_;
  UOp ast = search_kernel_.compilation().ast();
  const Settings& settings = search_kernel_.graph().settings();
  CandidateSpec plain{.target = search_kernel_.target(), .settings = settings, .variables = variables_, .max_uops = 0,
                      .device = placement_.device.get()};
  BeamCandidate without_opts = candidate_of_opts(search_kernel_, {}, plain);
  bool much = without_opts.outcome != CandidateOutcome::Timed || without_opts.num_operations > kMostForRef;
  ExecuteOptions execution{.timeout_seconds = 600};
  if (options_.reference_device.empty() && much && without_opts.executable) {
    reference_label_ = placement_.label + " without opts";
    expected_arrays_ =
        std::move(execute_kernel(*without_opts.executable, *placement_.device, input_arrays_, variables_, execution)
                  .value_or_throw()
                  .outputs);
    return *expected_arrays_;
  }
  Placement other =
      std::move(choose_placement(options_.reference_device.empty() ? "REF" : options_.reference_device, "", settings)
                .value_or_throw());
  reference_label_ = other.label;
  Graph own(settings);
  Executable same = std::move(make_executable({.root = copy_into(own, ast)}, other).value_or_throw());
  Arrays inputs = std::move(make_input_arrays(same.buffers(), input_arrays_, "", std::nullopt).value_or_throw());
  expected_arrays_ =
      std::move(execute_kernel(same, *other.device, inputs, variables_, execution).value_or_throw().outputs);
  return *expected_arrays_;
}

bool DeviceTimes::check_candidate(BeamCandidate& candidate, CandidateLog& log) {
  auto status = catch_failures([&] {
    const Arrays& wanted = expected_arrays();
    Arrays inputs =
        std::move(make_input_arrays(candidate.executable->buffers(), input_arrays_, "", std::nullopt).value_or_throw());
    ExecuteOptions execution{.timeout_seconds = options_.timeout_seconds};
    Arrays made = std::move(execute_kernel(*candidate.executable, *placement_.device, inputs, variables_, execution)
                            .value_or_throw()
                            .outputs);
    UOp ast = search_kernel_.compilation().ast();
    auto compared = ReferenceRunner(inputs, variables_).compare_arrays(ast, made, wanted);
    for (const Comparison& c : compared.value_or_throw())
      if (!c.has_passed()) throw Failure(c.text());
    return Unit{};
  });
  if (status) return true;
  log.outcome = CandidateOutcome::Wrong;
  log.failure_reason = status.diag().message;
  return false;
}

namespace {

using nlohmann::json;

CodeIdentity parse_identity(const std::string& text) {
  if (text == "binary") return CodeIdentity::Binary;
  if (text == "source") return CodeIdentity::Source;
  if (text == "none") return CodeIdentity::None;
  throw Failure(Diag{.message = "the identity '" + text + "'", .expected = "binary, source or none"});
}

std::string key_of_opts(const json& opts) { return opts_as_text(opts.get<OptTexts>()); }

}  // namespace

Result<ReplayTimes> ReplayTimes::open(const std::string& path) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.diag();
  return catch_failures([&]() -> ReplayTimes {
    ReplayTimes out;
    std::string line;
    try {
      while ((*lines)->next_line_text(line).value_or_throw()) {
        if (line.empty()) continue;
        json record = json::parse(line);
        if ((*lines)->line_number() == 1) {
          out.code_identity_ = parse_identity(record.at("identity").get<std::string>());
          out.target_ = record.at("target").get<std::string>();
          out.beam_width_ = record.at("width").get<size_t>();
          continue;
        }
        Times& times = out.kernel_times_[record.at("kernel").get<std::string>()];
        for (const json& t : record.at("times")) times[key_of_opts(t.at("opts"))] = t.at("seconds").get<double>();
      }
    } catch (const json::exception& e) {
      throw Failure(Diag{.message = std::string("no file of times: ") + e.what(),
                         .file = path,
                         .line = (*lines)->line_number(),
                         .expected = "what scripts/tools/beam_record writes"});
    }
    return out;
  });
}

std::optional<double> ReplayTimes::time_candidate(const OptTexts& opts, BeamCandidate&, double, CandidateLog& log) {
  auto it = current_times_->find(opts_as_text(opts));
  if (it != current_times_->end()) return it->second;
  log.outcome = CandidateOutcome::Unknown;
  return std::nullopt;
}

}  // namespace tgc
