#include "lib/driver/failure_collector.h"

#include <charconv>

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/uop/graph.h"

namespace tgc {

void FailureCollector::note_failure(const std::string& name, bool expected, const Diag& diag) {
  constexpr size_t kMostWarnings = 3;
  if (!first_failure_) first_failure_ = diag;
  if (expected) return void(num_expected_errors_++);
  if (num_failures_++ >= kMostWarnings) return;
  Diag named = diag;
  named.message = name + ": " + diag.message;
  session_.send_warning(named);
}

Status FailureCollector::for_each_input(const std::string& spec, const std::string& kernel,
                          const std::function<Status(InputGraph)>& each) {
  Status all = for_each_graph(session_, spec, kernel, [&](InputGraph graph) -> Status {
    const std::string name = graph.info.name;
    const bool expected = graph.record && graph.record->error;
    Status status = each(std::move(graph));
    if (session_.is_cancelled()) return status;
    status ? void(num_graphs_done_++) : note_failure(name, expected, status.diag());
    return Unit{};
  });
  if (!all || !first_failure_) return all;
  if (!num_graphs_done_) return *first_failure_;
  const size_t refused = num_failures_ + num_expected_errors_;
  session_.report_note(
      std::to_string(refused) + " of " + std::to_string(refused + num_graphs_done_) + " graphs were refused" +
      (num_expected_errors_ ? ", " + std::to_string(num_expected_errors_) + " of them by tinygrad too" : ""));
  return Unit{};
}

Status FailureCollector::for_each_pipeline(const std::string& spec, const std::string& kernel,
                                           const std::function<Status(Pipeline&)>& each) {
  return for_each_input(spec, kernel, [&](InputGraph graph) -> Status {
    auto pipeline = session_.pipeline(std::move(graph));
    return pipeline ? each(**pipeline) : Status(pipeline.diag());
  });
}

Result<Compilation> compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                                 const Settings& settings) {
  InputGraph copy{.graph = std::make_shared<Graph>(settings), .info = in.info, .file = in.file};
  copy.root = copy_into(*copy.graph, in.root);
  auto job = session.spec_for_input(in);
  if (!job) return job.diag();
  job->target = target;
  return Compilation::begin(std::move(copy), std::move(*job));
}

Result<Shard> Shard::parse(const std::string& text) {
  constexpr uint64_t kMaxShards = 65536;
  Shard out;
  const char *at = text.data(), *end = at + text.size();
  auto number = std::from_chars(at, end, out.shard_number);
  if (number.ec == std::errc() && number.ptr < end && *number.ptr == '/') {
    auto of = std::from_chars(number.ptr + 1, end, out.num_shards);
    const bool is_valid =
        of.ec == std::errc() && of.ptr == end && out.shard_number >= 1 && out.shard_number <= out.num_shards;
    if (is_valid && out.num_shards <= kMaxShards) return out;
  }
  return Diag{.message = "'" + text + "' is no shard", .expected = "K/N with K from 1 to N"};
}

}  // namespace tgc
