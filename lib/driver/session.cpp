#include "lib/driver/session.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "lib/compilation/pipeline.h"
#include "lib/compile/compile.h"
#include "lib/compile/llvm_fault.h"
#include "lib/live/tinygrad_process.h"
#include "lib/rewrite/fault.h"
#include "lib/rules/rule_catalog.h"
#include "lib/target/target.h"
#include "renderers/misprint.h"

namespace tgc {

std::shared_ptr<const GraphCompiler> Session::compiler() const {
  auto note = [to = events](const std::string& what) {
    if (to) to->on_note(what);
  };
  CompilerChoices choices{
      .overrides = overrides, .default_target = default_target(), .compile_options = compile_options, .note = note};
  return tinygrad_pool ? make_live_compiler(std::move(choices), tinygrad_pool)
                       : make_native_compiler(std::move(choices));
}

Result<Settings> Session::merge_settings(const std::map<std::string, std::string>& recorded) const {
  return compiler()->merge_settings(recorded);
}

Status Session::start_live_pipeline() {
  if (overrides.live_command.empty()) return Unit{};
  auto named = resolve_tinygrad(overrides.live_command);
  if (!named) return named.diag();
  CancelRequest* stop = cancel;
  tinygrad_pool = std::make_shared<TinygradPool>(*named, std::max(num_jobs, 1u),
                                                 [stop] { return stop && stop->is_cancel_requested(); });
  auto& facts = tinygrad_pool->facts();
  return facts ? Status(Unit{}) : Status(facts.diag());
}

std::string Session::default_target() const {
  if (!overrides.target.empty()) return overrides.target;
  std::string target = target_of_environment();
  return target.empty() ? "CPU" : target;
}

std::string Session::target_for_input(const InputGraph& in) const { return compiler()->target_for_input(in); }
Result<CompilationSpec> Session::spec_for_input(const InputGraph& in) const { return compiler()->spec_for_input(in); }

Result<Compilation> Session::begin(InputGraph in) const { return compiler()->begin(std::move(in)); }
Result<std::unique_ptr<Pipeline>> Session::pipeline(InputGraph in) const { return compiler()->pipeline(std::move(in)); }

namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
bool is_variable_set(const char* name) {
  std::string value = environment_value(name);
  return !value.empty() && value != "0";
}

constexpr const char* kDevices[] = {"CPU", "CUDA", "NV", "AMD", "METAL", "CL", "WEBGPU", "QCOM"};

struct RendererSwitch {
  const char *variable, *device, *target;
};
constexpr RendererSwitch kRenderers[] = {{"CPU_LLVM", "CPU", "CPU:LLVM"},
                                         {"CUDA_PTX", "CUDA", "CUDA:PTX"},
                                         {"NV_PTX", "NV", "NV:PTX"},
                                         {"AMD_LLVM", "AMD", "AMD:LLVM"}};

struct IgnoredVariable {
  const char *variable, *hint;
};
constexpr IgnoredVariable kIdle[] = {
    {"VIZ", "`tgc view INPUT` shows every graph and rewrite in a browser"},
    {"JIT", "nothing is captured; a tensor graph is scheduled each time"},
    {"PROFILE", "`tgc run --bench=N` and DEBUG=2 tell times"},
    {"DEVICE", "it is no variable of tinygrad 0.12.0; DEV=NAME and --target=NAME pick a device"},
    {"CLANG", "it is no variable of tinygrad 0.12.0; --target=CPU:CLANG picks the renderer"},
    {"LLVM", "it is no variable of tinygrad 0.12.0; CPU_LLVM=1 and --target=CPU:LLVM pick the renderer"},
    {"GPU", "it is no variable of tinygrad 0.12.0; CL=1 and --target=CL pick the device"},
};

}  // namespace

std::string target_of_environment() {
  std::string device = environment_value("DEV");
  std::transform(device.begin(), device.end(), device.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  for (const char* name : kDevices)
    if (device.empty() && environment_value(name) == "1") device = name;
  for (const RendererSwitch& s : kRenderers)
    if (is_variable_set(s.variable) && (device == s.device || (device.empty() && s.device == std::string("CPU"))))
      return s.target;
  return device;
}

std::vector<std::string> ignored_variables() {
  std::vector<std::string> out;
  for (const IgnoredVariable& idle : kIdle)
    if (is_variable_set(idle.variable))
      out.push_back(std::string(idle.variable) + "=" + environment_value(idle.variable) +
                    " does nothing here: " + idle.hint);
  return out;
}

namespace {

Status unknown_name_error(std::string_view what, std::string_view name, std::span<const std::string_view> names) {
  constexpr size_t kMaxListedNames = 12;
  std::string near = nearest_names_text(name, names);
  if (near.empty() && names.size() <= kMaxListedNames)
    for (std::string_view one : names) near += (near.empty() ? "" : ", ") + std::string(one);
  return Diag{.message = "TGC_FAULT: no " + std::string(what) + " is called '" + std::string(name) + "'",
              .expected = (near.empty() ? "" : near + ", or ") +
                          "a name that `tgc patterns` or `tgc help faults` lists"};
}

Status check_renderer(std::string_view name) {
  auto names = renderer_names();
  return std::ranges::find(names, name) != names.end() ? Status(Unit{}) : unknown_name_error("renderer", name, names);
}

Status check_fault(const FaultSpec& fault) {
  using Kind = FaultSpec::Kind;
  std::vector<std::string_view> names;
  const char* what = "rule";
  std::string_view name = fault.rule;
  if (fault.kind == Kind::Renderer) {
    if (auto good = check_renderer(name.substr(0, name.find('.'))); !good && name.find('.') != name.npos) return good;
    name.remove_prefix(std::min(name.find('.') + 1, name.size()));
    what = "op that can be printed otherwise";
    for (int op = 0; op < kNumOps; op++)
      if (kMisprintedOps.contains(Op(op))) names.push_back(name_of(Op(op)));
  } else if (fault.kind == Kind::Llvm) {
    what = "fault in LLVM";
    names.assign(std::begin(kLlvmFaults), std::end(kLlvmFaults));
  } else if (fault.kind == Kind::Shortcut) {
    what = "shortcut";
    for (const Shortcut* s : all_shortcuts()) names.push_back(s->name);
  } else {
    for (const CatalogRule& r : catalog_rules()) names.push_back(r.rule->name);
  }
  if (std::ranges::find(names, name) != names.end()) return Unit{};
  return unknown_name_error(what, name, names);
}

}  // namespace

Status check_fault_of_environment() {
  auto fault = fault_of_environment();
  if (!fault) return fault.diag();
  if (!*fault) return Unit{};
  if (auto good = check_fault(**fault); !good) return good;
  for (const FaultSpec& other : (*fault)->other_faults)
    if (auto good = check_fault(other); !good) return good;
  return Unit{};
}

std::vector<std::string> fault_warnings() {
  auto in_llvm = fault_of_environment(FaultSpec::Kind::Llvm);
  if (in_llvm && *in_llvm && has_llvm_fault_occurred()) record_seeded_fault(**in_llvm);
  return extract_fault_warnings();
}

bool should_track_match_stats() { return is_variable_set("TRACK_MATCH_STATS"); }

}  // namespace tgc
