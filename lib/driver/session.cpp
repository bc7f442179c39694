#include "lib/driver/session.h"

#include "lib/driver/environment.h"
#include "lib/live/tinygrad_process.h"
#include "lib/target/recorded_target.h"

namespace tgc {

Result<Settings> Session::settings_for(const std::map<std::string, std::string>& recorded) const {
  auto settings = Settings::from_environment();
  if (!settings) return settings;
  for (auto& [key, value] : recorded)
    if (auto status = settings->set(key, value); !status && !live) return status.diag();
  for (const std::string& s : over.sets)
    if (!live)
      if (auto status = settings->set(s); !status) return status.diag();
  return settings;
}

Status Session::go_live() {
  if (over.live.empty()) return Unit{};
  auto named = named_tinygrad(over.live);
  if (!named) return named.diag();
  Cancel* stop = cancel;
  live = std::make_shared<TinygradPool>(*named, std::max(jobs, 1u), [stop] { return stop && stop->requested(); });
  auto& facts = live->about();
  return facts ? Status(Unit{}) : Status(facts.diag());
}

std::string Session::default_target() const {
  if (!over.target.empty()) return over.target;
  std::string target = target_of_environment();
  return target.empty() ? "CPU" : target;
}

std::string Session::target_for(const InputGraph& in) const {
  if (!over.target.empty()) return over.target;
  if (!in.info.target.empty()) return in.info.target;
  return in.is_tensor_graph ? "" : default_target();
}

Result<JobSpec> Session::job_for(const InputGraph& in) const {
  JobSpec job{.target = target_for(in), .opts = over.opts, .compile = compile};
  auto* parse = over.target.empty() ? recorded_target : parse_target;
  if (!job.target.empty())
    if (auto target = parse(job.target, in.graph->settings()); !target) return target.diag();
  return job;
}

Result<Compilation> Session::begin(InputGraph in) const {
  auto job = job_for(in);
  if (!job) return job.diag();
  if (!over.target.empty()) in.info.target = over.target;  // so that dumps of the graph name the target
  return Compilation::begin(std::move(in), std::move(*job));
}

}  // namespace tgc
