#include "lib/run/run_options.h"

#include "lib/runtime/emulated.h"
#include "lib/support/deadline.h"

namespace tgc {

bool has_own_arrays(const InputOptions& input) {
  return !input.arrays_file.empty() && (input.is_only_kernel || input.arrays_file.find("{}") != std::string::npos);
}

double DeviceOptions::timeout_seconds_for(const Placement& place) const {
  constexpr double kDevice = 60, kEmulator = 600, kNoLimit = 1e9;
  if (!timeout_seconds) return place.is_ref ? 0 : is_emulated(place.label) ? kEmulator : kDevice;
  return *timeout_seconds > 0 ? *timeout_seconds : kNoLimit;
}

Diag error_with_time_option(Diag error, std::string_view subject) {
  if (!is_out_of_time(error)) return error;
  error.message.insert(0, subject);
  error.expected = "--timeout=S where it may take longer";
  return error;
}

ExecuteOptions DeviceOptions::make_execute_options(const Placement& place) const {
  return {.should_run_in_process = should_run_in_process, .timeout_seconds = timeout_seconds_for(place)};
}

ExecuteOptions DeviceOptions::ref_options_in_process() const {
  return {.should_run_in_process = true, .timeout_seconds = timeout_seconds_for(make_ref_placement())};
}

void compile_for_device(Session& session, RunOptions& options) {
  options.input.should_run_recorded |= session.compiler()->prepare_for_device(options.device.name, session.overrides);
}

Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings) {
  return choose_placement(device, device.empty() ? session.default_target() : session.overrides.target, settings);
}

Target lowering_target(const Placement& place, const Settings& settings) {
  return place.target ? *place.target : std::move(parse_target("CPU:LLVM", settings).value_or_throw());
}

Status check_emulation(const Placement& place) {
  if (!is_emulation_requested() || is_emulated(place.label)) return Unit{};
  return Diag{.message = "--emulate does nothing for " + place.label,
              .expected = "a device that is emulated, for example --device=CUDA"};
}

namespace {

constexpr uint8_t kRunSchedule = uint8_t(RunTask::RunSchedule), kBisectSchedule = uint8_t(RunTask::BisectSchedule),
                  kBisectRecorded = uint8_t(RunTask::BisectRecorded);
constexpr uint8_t kSchedule = kRunSchedule | kBisectSchedule, kBisect = kBisectSchedule | kBisectRecorded;

struct RefusedOption {
  const char* option;
  uint8_t refusing_tasks;
  bool (*is_set)(const RunOptions& o);
  const char* alternative;
};

bool has_device_reference(const RunOptions& o) {
  return !o.compare.reference_device.empty() && o.compare.reference_device != "REF" &&
         o.compare.reference_device != "none";
}

constexpr RefusedOption kRows[] = {
    {"--recorded", kSchedule, [](const RunOptions& o) { return o.input.should_run_recorded; },
     "no --recorded: the recorded kernels are what runs"},
    {"--recorded", kBisectRecorded, [](const RunOptions& o) { return o.input.should_run_recorded; },
     "no --recorded: the recorded stages are what is bisected, or --native"},
    {"--sanitize", kSchedule, [](const RunOptions& o) { return o.device.should_use_sanitizer; },
     "one of its kernels as the input"},
    {"--sanitize", kBisectRecorded, [](const RunOptions& o) { return o.device.should_use_sanitizer; },
     "--native, or no --sanitize to bisect the recorded stages"},
    {"--repro", kRunSchedule, [](const RunOptions& o) { return !o.output.repro_path.empty(); },
     "--save-failures=DIR, which keeps the arrays of a failure and prints the command that repeats it"},
    {"--repro", kBisect, [](const RunOptions& o) { return !o.output.repro_path.empty(); },
     "no --repro: the recording repeats the search, and `tgc run --save-failures=DIR` keeps the arrays"},
    {"--reference", kSchedule, has_device_reference, "--reference=REF, or --expect=F.npz"},
    {"--reference", kBisectRecorded, has_device_reference, "--expect=F.npz, or --native"},
    {"--reference=none", kBisect, [](const RunOptions& o) { return o.compare.reference_device == "none"; },
     "no --reference: bisect compares"},
};

}  // namespace

Status check_options_honoured(RunTask task, const RunOptions& options, const InputGraph& in) {
  for (const RefusedOption& row : kRows)
    if ((row.refusing_tasks & uint8_t(task)) && row.is_set(options))
      return Diag{.message = std::string(row.option) + " has no effect on " +
                             (task == RunTask::BisectRecorded ? "the recorded kernel '" : "the recorded schedule '") +
                             in.info.name + "'",
                  .file = in.file,
                  .expected = row.alternative};
  return Unit{};
}

}  // namespace tgc
