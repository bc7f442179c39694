#include "lib/driver/failure_collector.h"

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"

namespace tgc {

void FailureCollector::note(const std::string& name, bool expected, const Diag& diag) {
  constexpr size_t kMostWarnings = 3;
  if (!first_) first_ = diag;
  if (expected) return void(expected_++);
  if (refused_++ >= kMostWarnings) return;
  Diag named = diag;
  named.message = name + ": " + diag.message;
  session_.warn(named);
}

Status FailureCollector::for_each(const std::string& spec, const std::string& kernel,
                          const std::function<Status(InputGraph)>& each) {
  Status all = for_each_graph(session_, spec, kernel, [&](InputGraph graph) -> Status {
    const std::string name = graph.info.name;
    const bool expected = graph.record && graph.record->error;
    Status status = each(std::move(graph));
    if (session_.cancelled()) return status;
    status ? void(done_++) : note(name, expected, status.diag());
    return Unit{};
  });
  if (!all || !first_) return all;
  if (!done_) return *first_;
  const size_t refused = refused_ + expected_;
  session_.note(std::to_string(refused) + " of " + std::to_string(refused + done_) + " graphs were refused" +
                (expected_ ? ", " + std::to_string(expected_) + " of them by tinygrad too" : ""));
  return Unit{};
}

Status FailureCollector::for_each_pipeline(const std::string& spec, const std::string& kernel,
                                           const std::function<Status(Pipeline&)>& each) {
  return for_each(spec, kernel, [&](InputGraph graph) -> Status {
    auto pipeline = session_.pipeline(std::move(graph));
    return pipeline ? each(**pipeline) : Status(pipeline.diag());
  });
}

}  // namespace tgc
