#include "lib/run/run_options.h"

#include <algorithm>
#include <charconv>

#include "lib/runtime/emulated.h"
#include "lib/support/deadline.h"

namespace tgc {

double DeviceOptions::timeout_for(const Placement& place) const {
  constexpr double kDevice = 60, kEmulator = 600, kNoLimit = 1e9;
  if (!timeout_seconds) return place.is_ref ? 0 : is_emulated(place.label) ? kEmulator : kDevice;
  return *timeout_seconds > 0 ? *timeout_seconds : kNoLimit;
}

Diag with_time_option(Diag error, std::string_view who) {
  if (!is_out_of_time(error)) return error;
  error.message.insert(0, who);
  error.expected = "--timeout=S where it may take longer";
  return error;
}

ExecuteOptions DeviceOptions::execute_options(const Placement& place) const {
  return {.in_process = in_process, .timeout_seconds = timeout_for(place)};
}

ExecuteOptions DeviceOptions::ref_in_process() const {
  return {.in_process = true, .timeout_seconds = timeout_for(place_in_ref())};
}

void compile_for_device(Session& session, RunOptions& options) {
  options.input.recorded |= session.compiler()->compile_for(options.device.name, session.over);
}

Result<Placement> placement_for_model(const Session& session, const std::string& device, const Settings& settings) {
  return choose_placement(device, device.empty() ? session.default_target() : session.over.target, settings);
}

Target lowering_target(const Placement& place, const Settings& settings) {
  return place.target ? *place.target : std::move(parse_target("CPU:LLVM", settings).value_or_throw());
}

void check_emulation(const Placement& place) {
  if (emulation_was_asked_for() && !is_emulated(place.label))
    throw Failure(Diag{.message = "--emulate does nothing for " + place.label,
                       .expected = "a device that is emulated, for example --device=CUDA"});
}

}  // namespace tgc
