#include "lib/driver/make_pipeline.h"

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"

namespace tgc {

bool compiles(const Session& session, const InputGraph& in) { return session.compiler()->compiles(in); }

Result<std::unique_ptr<Pipeline>> Session::pipeline(InputGraph in) const { return compiler()->pipeline(std::move(in)); }

Status for_each_pipeline(const Session& session, const std::string& spec, const std::string& kernel,
                         const std::function<Status(Pipeline&)>& each) {
  return for_each_graph(session, spec, kernel, [&](InputGraph graph) -> Status {
    auto pipeline = session.pipeline(std::move(graph));
    return pipeline ? each(**pipeline) : Status(pipeline.diag());
  });
}

}  // namespace tgc
