#include "lib/driver/compile_copy.h"

#include "lib/uop/copy.h"

namespace tgc {

Compilation compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                         const Settings& settings) {
  InputGraph copy{.graph = std::make_shared<Graph>(settings), .info = in.info, .file = in.file};
  copy.root = copy_into(*copy.graph, in.root);
  JobSpec job = std::move(session.job_for(in).value_or_throw());
  job.target = target;
  return std::move(Compilation::begin(std::move(copy), std::move(job)).value_or_throw());
}

}  // namespace tgc
