#include "lib/session/begin_anew.h"

#include "lib/uop/copy.h"

namespace tgc {

Compilation begin_anew(const Session& session, const Loaded& in, const std::string& target, const Settings& settings) {
  Loaded copy{.graph = std::make_shared<Graph>(settings), .info = in.info, .file = in.file};
  copy.root = copy_into(*copy.graph, in.root);
  JobSpec job = std::move(session.job_for(in).value_or_throw());
  job.target = target;
  return std::move(Compilation::begin(std::move(copy), std::move(job)).value_or_throw());
}

}  // namespace tgc
