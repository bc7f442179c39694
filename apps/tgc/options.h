// Options that several commands share: --target, --device, --set, --opts, --kernel.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/settings.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"

namespace CLI {
class App;
}

namespace tgc {

struct PipelineOptions {
  std::string target;             // empty: the input's own, else CPU
  std::vector<std::string> sets;  // KEY=VALUE each
  std::string opts;               // "[Opt(...), ...]", empty: not forced

  std::vector<std::string> sizes;  // NAME=SIZE each: of a model's symbolic dimensions
  std::string weights;             // a file of tensors for a model's initializers

  void add_to(CLI::App& command, bool device_is_target = true);  // false: the command has a --device of its own
  void add_weights_to(CLI::App& command);

  // The settings of a job: defaults, the environment, what the input says (`recorded`), --set; each overrides the ones before.
  Result<Settings> settings(const std::map<std::string, std::string>& recorded = {}) const;
  // --target, else the input's own, else CPU.
  Result<Target> resolve_target(const std::string& recorded, const Settings& settings) const;
  // --opts as Opt records of `graph`; nullopt when not given.
  Result<std::optional<std::vector<Arg>>> forced_opts(Graph& graph) const;
};

}  // namespace tgc
