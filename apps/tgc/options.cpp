#include "apps/tgc/options.h"

#include <CLI/CLI.hpp>

#include "lib/text/pyrender.h"

namespace tgc {

void PipelineOptions::add_to(CLI::App& command, bool device_is_target) {
  auto* target_option = command.add_option("--target", target, "what to compile for: DEVICE[:RENDERER[:ARCH]], for example CUDA:PTX:sm_80; default CPU")
                            ->type_name("TARGET");
  if (device_is_target) command.add_option("--device", target, "the same as --target")->type_name("TARGET")->excludes(target_option);
  command.add_option("--set", sets, "a setting by tinygrad's name, for example NOOPT=1; the environment variable of that name is the fallback")
      ->type_name("KEY=VALUE")
      ->take_all();
  command.add_option("--opts", opts, "the optimizer's list, for example '[Opt(OptOps.UPCAST, 0, 4)]'; default: tinygrad's heuristic")->type_name("LIST");
}

void PipelineOptions::add_weights_to(CLI::App& command) {
  command.add_option("--weights", weights, "a safetensors, npz or npy file with tensors for a model's initializers and inputs, by name")->type_name("FILE");
}

Result<Settings> PipelineOptions::settings(const std::map<std::string, std::string>& recorded) const {
  auto settings = Settings::from_environment();
  if (!settings) return settings;
  for (auto& [key, value] : recorded)
    if (auto status = settings->set(key, value); !status) return status.diag();
  for (const std::string& s : sets)
    if (auto status = settings->set(s); !status) return status.diag();
  return settings;
}

Result<Target> PipelineOptions::resolve_target(const std::string& recorded, const Settings& settings) const {
  return parse_target(!target.empty() ? target : !recorded.empty() ? recorded : "CPU", settings);
}

Result<std::optional<std::vector<Arg>>> PipelineOptions::forced_opts(Graph& graph) const {
  if (opts.empty()) return std::optional<std::vector<Arg>>();
  auto parsed = read_opts(graph, opts, "--opts");
  if (!parsed) return parsed.diag();
  return std::optional(std::move(*parsed));
}

}  // namespace tgc
