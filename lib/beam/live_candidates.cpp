#include "lib/beam/live_candidates.h"

#include "lib/run/recorded_source.h"

namespace tgc {

CandidateSpec::Compile make_live_compile(const Session& session, const InputGraph& in, Placement& place) {
  if (!session.compiler()->leaves_opts_to_tinygrad()) return {};
  return [&session, &in, &place](BeamCandidate& out, const std::string& opts) {
    Session own = session;
    own.overrides.opts = opts, own.overrides.imports_kernels = true, own.overrides.records_live_rewrites = false;
    InputGraph made = own.compiler()->compile(in, "").value_or_throw();
    if (made.record && made.record->error) throw Failure(*made.record->error);
    if (!made.record || !made.record->source || !made.record->program) throw Failure("tinygrad made no source");
    out.graph = made.graph;
    out.executable.emplace(std::move(make_recorded_executable(made, place, 0, nullptr).value_or_throw()));
  };
}

}  // namespace tgc
