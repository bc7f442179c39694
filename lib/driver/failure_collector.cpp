#include "lib/driver/failure_collector.h"

#include <charconv>

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/uop/graph.h"

namespace tgc {

void FailureCollector::note(const std::string& name, bool expected, const Diag& diag) {
  constexpr size_t kMostWarnings = 3;
  if (!first_) first_ = diag;
  if (expected) return void(expected_++);
  if (failures_++ >= kMostWarnings) return;
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
  const size_t refused = failures_ + expected_;
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

Result<Compilation> compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                                 const Settings& settings) {
  InputGraph copy{.graph = std::make_shared<Graph>(settings), .info = in.info, .file = in.file};
  copy.root = copy_into(*copy.graph, in.root);
  auto job = session.job_for(in);
  if (!job) return job.diag();
  job->target = target;
  return Compilation::begin(std::move(copy), std::move(*job));
}

Result<Shard> Shard::parse(const std::string& text) {
  constexpr uint64_t kMost = 65536;
  Shard out;
  const char *at = text.data(), *end = at + text.size();
  auto number = std::from_chars(at, end, out.number);
  if (number.ec == std::errc() && number.ptr < end && *number.ptr == '/') {
    auto of = std::from_chars(number.ptr + 1, end, out.count);
    const bool is_valid = of.ec == std::errc() && of.ptr == end && out.number >= 1 && out.number <= out.count;
    if (is_valid && out.count <= kMost) return out;
  }
  return Diag{.message = "'" + text + "' is no shard", .expected = "K/N with K from 1 to N"};
}

}  // namespace tgc
