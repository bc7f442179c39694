#include "lib/driver/session.h"

#include "lib/compilation/pipeline.h"
#include "lib/driver/environment.h"
#include "lib/live/tinygrad_process.h"

namespace tgc {

std::shared_ptr<const GraphCompiler> Session::compiler() const {
  auto note = [to = events](const std::string& what) {
    if (to) to->note(what);
  };
  CompilerChoices choices{.over = over, .default_target = default_target(), .compile = compile, .note = note};
  return live ? live_compiler(std::move(choices), live) : own_compiler(std::move(choices));
}

Result<Settings> Session::settings_for(const std::map<std::string, std::string>& recorded) const {
  return compiler()->settings_for(recorded);
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

std::string Session::target_for(const InputGraph& in) const { return compiler()->target_for(in); }
Result<JobSpec> Session::job_for(const InputGraph& in) const { return compiler()->job_for(in); }

Result<Compilation> Session::begin(InputGraph in) const { return compiler()->begin(std::move(in)); }
Result<std::unique_ptr<Pipeline>> Session::pipeline(InputGraph in) const { return compiler()->pipeline(std::move(in)); }

}  // namespace tgc
