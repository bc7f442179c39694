#include "lib/session/environment.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "lib/compile/compile.h"
#include "lib/inspect/rule_catalog.h"
#include "lib/rewrite/fault.h"

namespace tgc {
namespace {

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
bool is_set(const char* name) {
  std::string value = value_of(name);
  return !value.empty() && value != "0";
}

constexpr const char* kDevices[] = {"CPU", "CUDA", "NV", "AMD", "METAL", "CL", "WEBGPU", "QCOM"};

struct Switch {
  const char *variable, *device, *target;
};
constexpr Switch kRenderers[] = {{"CPU_LLVM", "CPU", "CPU:LLVM"},
                                 {"CUDA_PTX", "CUDA", "CUDA:PTX"},
                                 {"NV_PTX", "NV", "NV:PTX"},
                                 {"AMD_LLVM", "AMD", "AMD:LLVM"}};

struct Idle {
  const char *variable, *what;
};
constexpr Idle kIdle[] = {
    {"VIZ", "`tgc trace` shows every rewrite"},
    {"JIT", "nothing is captured; a tensor graph is scheduled each time"},
    {"PROFILE", "`tgc run --bench=N` and DEBUG=2 tell times"},
    {"DEVICE", "it is no variable of tinygrad 0.12.0; DEV=NAME and --target=NAME pick a device"},
    {"CLANG", "it is no variable of tinygrad 0.12.0; --target=CPU:CLANG picks the renderer"},
    {"LLVM", "it is no variable of tinygrad 0.12.0; CPU_LLVM=1 and --target=CPU:LLVM pick the renderer"},
    {"GPU", "it is no variable of tinygrad 0.12.0; CL=1 and --target=CL pick the device"},
};

}  // namespace

std::string target_of_environment() {
  std::string device = value_of("DEV");
  std::transform(device.begin(), device.end(), device.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  for (const char* name : kDevices)
    if (device.empty() && value_of(name) == "1") device = name;
  for (const Switch& s : kRenderers)
    if (is_set(s.variable) && (device == s.device || (device.empty() && s.device == std::string("CPU"))))
      return s.target;
  return device;
}

std::vector<std::string> idle_variables() {
  std::vector<std::string> out;
  for (const Idle& idle : kIdle)
    if (is_set(idle.variable))
      out.push_back(std::string(idle.variable) + "=" + value_of(idle.variable) + " does nothing here: " + idle.what);
  return out;
}

namespace {

// Whether a fault's name is one that there is.
Status check_fault(const FaultSpec& fault) {
  using In = FaultSpec::In;
  std::vector<std::string_view> names;
  const char* what = "rule";
  if (fault.in == In::Renderer) {
    what = "op";
    for (int op = 0; op < kNumOps; op++) names.push_back(name_of(Op(op)));
  } else if (fault.in == In::Llvm) {
    what = "fault in LLVM";
    names.assign(std::begin(kLlvmFaults), std::end(kLlvmFaults));
  } else if (fault.in == In::Shortcut) {
    what = "shortcut";
    for (const Shortcut* s : shortcuts()) names.push_back(s->name);
  } else {
    for (const CatalogRule& r : catalog_rules()) names.push_back(r.rule->name);
  }
  std::string_view name = fault.rule;
  if (fault.in == In::Renderer) name.remove_prefix(std::min(name.find('.') + 1, name.size()));
  if (std::ranges::find(names, name) != names.end()) return Unit{};
  std::string near = nearest_names(name, names);
  return Diag{.message = "TGC_FAULT: no " + std::string(what) + " is called '" + std::string(name) + "'",
              .expected = near.empty() ? "a name that `tgc patterns` or `tgc help faults` lists" : near};
}

}  // namespace

Status check_fault_of_environment() {
  auto fault = fault_of_environment();
  if (!fault) return fault.diag();
  if (!*fault) return Unit{};
  if (auto good = check_fault(**fault); !good) return good;
  for (const FaultSpec& other : (*fault)->others)
    if (auto good = check_fault(other); !good) return good;
  return Unit{};
}

bool tracks_match_stats() { return is_set("TRACK_MATCH_STATS"); }

}  // namespace tgc
