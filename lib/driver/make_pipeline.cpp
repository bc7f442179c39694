// Session::pipeline: the only code that chooses between the kinds of pipelines.
#include "lib/driver/make_pipeline.h"

#include "lib/compilation/pipeline.h"
#include "lib/driver/import_input.h"
#include "lib/driver/live_input.h"
#include "lib/driver/source.h"

namespace tgc {
namespace {

std::unique_ptr<Pipeline> live_pipeline(const Session& session, InputGraph in) {
  auto again = [session](const InputGraph& before, const RuleMatch& left_out) -> Result<std::unique_ptr<Pipeline>> {
    auto without = compile_live_without(session, before, left_out);
    if (!without) return without.diag();
    return live_pipeline(session, std::move(*without));
  };
  auto kernel = [session](const InputGraph& schedule, size_t number) -> Result<std::unique_ptr<Pipeline>> {
    auto compiled = compile_live_kernel(session, schedule, std::to_string(number));
    if (!compiled) return compiled.diag();
    return live_pipeline(session, std::move(*compiled));
  };
  return recorded_pipeline(std::move(in), again, kernel);
}

}  // namespace

bool compiles(const Session& session, const InputGraph& in) {
  const Overrides& over = session.over;
  const bool is_own = !in.graph->is_foreign() && (!is_imported(in) || over.native);
  const bool has_stage = in.info.stage.empty() || find_row(in.info.stage);
  return !session.live && is_own && has_stage && !(over.recorded && in.record);
}

Result<std::unique_ptr<Pipeline>> Session::pipeline(InputGraph in) const {
  if (live) return live_pipeline(*this, std::move(in));
  if (const auto& refused = imported_from(in).refused; refused && over.native) return *refused;
  if (!compiles(*this, in)) return recorded_pipeline(std::move(in));
  auto begun = begin(std::move(in));
  if (!begun) return begun.diag();
  return native_pipeline(std::move(*begun));
}

Status for_each_pipeline(const Session& session, const std::string& spec, const std::string& kernel,
                         const std::function<Status(Pipeline&)>& each) {
  return for_each_graph(session, spec, kernel, [&](InputGraph graph) -> Status {
    auto pipeline = session.pipeline(std::move(graph));
    return pipeline ? each(**pipeline) : Status(pipeline.diag());
  });
}

}  // namespace tgc
