#include "lib/execute/placement.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "lib/execute/executable.h"
#include "lib/runtime/devices.h"
#include "lib/runtime/emulated.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {

namespace {

std::string to_upper_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return out;
}

// The parts of DEVICE[:RENDERER[:ARCH]]; an arch may contain colons.
struct DeviceParts {
  std::string device, renderer, arch;
  explicit DeviceParts(std::string text) : device(cut_part(text)), renderer(cut_part(text)), arch(text) {}
  static std::string cut_part(std::string& text) {
    size_t colon = text.find(':');
    std::string first = text.substr(0, colon);
    text = colon == text.npos ? "" : text.substr(colon + 1);
    return first;
  }
  std::string text() const {
    return device + (renderer.empty() ? "" : ":" + renderer) + (arch.empty() ? "" : ":" + arch);
  }
};

// Probes a device once for the whole process.
RuntimeInfo probe_device_once(const std::string& device) {
  static std::mutex mutex;
  static std::map<std::string, RuntimeInfo> known;
  std::lock_guard lock(mutex);
  auto found = known.find(device);
  if (found == known.end()) found = known.emplace(device, probe_device(device)).first;
  return found->second;
}

// Returns the target that `device` names, with its missing parts. Opens a device other than the CPU in a worker to find
// them.
Result<std::string> complete_target(const std::string& device, const Device& made) {
  bool is_plugin = device_part(device) == "plugin";
  DeviceParts wanted(device), own("");
  if (!is_plugin && !wanted.renderer.empty() && !wanted.arch.empty()) return device;
  if (to_upper_case(wanted.device) == "CPU") {
    own = DeviceParts(made.target());
  } else {
    RuntimeInfo found = probe_device_once(device);
    if (!found.is_available) {
      const bool can_emulate = has_emulator(wanted.device) && !is_emulated(wanted.device);
      return Diag{.message = "the device '" + device + "' does not work here: " + found.detail_text,
                  .expected = std::string("one that `tgc devices` says yes to") +
                              (can_emulate ? ", or --emulate, which emulates this device" : "")};
    }
    own = DeviceParts(found.target);
    // an emulated GPU has the default arch, unless an environment variable selects another
    if (auto usual = parse_target(own.device, {}); usual && can_emulate_any_arch(device)) own.arch = usual->arch;
  }
  if (is_plugin) return own.text();
  if (!wanted.renderer.empty()) own.renderer = wanted.renderer;
  if (!wanted.arch.empty()) own.arch = wanted.arch;
  return own.text();
}

}  // namespace

Result<Placement> choose_placement(const std::string& device, const std::string& target, const Settings& settings,
                                   Result<Target> (*parse)(std::string_view, const Settings&)) {
  std::string where = !device.empty() ? device : !target.empty() ? target : "CPU";
  std::string kind = to_upper_case(device_part(where)), lowered = target;
  bool is_plugin = device_part(where) == "plugin";
  Placement out;
  out.is_ref = kind == "REF";
  if (!device.empty() && !target.empty() && !out.is_ref && !is_plugin) {
    if (kind != to_upper_case(device_part(target)))
      return Diag{.message = "a kernel lowered for '" + target + "' does not run on '" + device + "'",
                  .expected = "REF, which runs what is lowered for any target"};
    where = target;
  }
  if (auto status = check_emulated_device(where); !status) return status.diag();
  auto made = make_device(where);
  if (!made) return made.diag();
  if (!out.is_ref && (target.empty() || !is_plugin)) {
    auto text = complete_target(where, **made);
    if (!text) return text.diag();
    lowered = *text;
  }
  if (!lowered.empty()) {
    auto parsed = parse(lowered, settings);
    if (!parsed) return parsed.diag();
    out.target = std::move(*parsed);
  }
  out.label = out.is_ref ? "REF" : is_plugin ? where : out.target->name();
  if (out.target && (out.is_ref || is_plugin)) out.label += ", lowered for " + out.target->name();
  if (auto how = emulation_note(where); !how.empty()) out.label += ", " + std::string(how);
  out.device = std::move(*made);
  return out;
}

Placement make_ref_placement() { return std::move(choose_placement("REF", "", Settings()).value_or_throw()); }

bool can_run_here(const std::string& target) {
  std::string device = to_upper_case(device_part(target));
  return device == "CPU" || (make_device(target) && probe_device_once(device).is_available);
}

namespace {

Status run_probe_kernel(const Placement& place, const Settings& settings, const ExecuteOptions& options) {
  return catch_failures([&] {
    Graph graph(settings);
    UOp out = graph.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1), {}, Arg(int64_t(0)));
    // a random number, because the compile cache hides a missing compiler if the source is known
    UOp number = graph.constant(dtypes::int32, Const(int64_t(std::random_device{}() >> 1)));
    UOp zero = graph.constant(dtypes::int32, Const(int64_t(0)));
    UOp at = out.index_ptr(zero), store = at.store(number), sink = sink_with_opts(graph.sink({store}), {});
    const UOp list[] = {out, zero, at, number, store, sink};
    Executable kernel = std::move(Executable::make_for_device(list, *place.target, *place.device).value_or_throw());
    Arrays arrays;
    arrays.push_back({"data0", Array(dtypes::int32, {1})});
    return execute_kernel(kernel, *place.device, arrays, {}, options).value_or_throw(), Unit{};
  });
}

}  // namespace

Status probe_device(const Placement& place, const Settings& settings, const ExecuteOptions& options) {
  if (place.is_ref || !place.target) return Unit{};
  static std::mutex lock;
  static std::set<std::string> known;
  std::lock_guard guard(lock);
  if (known.contains(place.label)) return Unit{};
  auto works = run_probe_kernel(place, settings, options);
  if (!works) return Diag{place.label + " runs no kernel at all: " + works.diag().text()};
  known.insert(place.label);
  return Unit{};
}

}  // namespace tgc
