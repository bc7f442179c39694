// Helpers of commands that work on many graphs.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/driver/session.h"
#include "lib/support/result.h"

namespace tgc {

// Runs an operation on many graphs. If it fails on a graph, counts the failure, warns of the first ones, and continues
// with the next graph. A failure on a graph whose record has an error of tinygrad is counted separately and causes no
// warning.
class FailureCollector {
 public:
  explicit FailureCollector(const Session& session) : session_(session) {}

  // Calls `each` with every graph of an INPUT, and notes the number of failures. Fails as for_each_graph(), and if
  // `each` failed on all graphs.
  Status for_each_input(const std::string& spec, const std::string& kernel,
                        const std::function<Status(InputGraph)>& each);
  // As for_each_input(), but calls `each` with the pipeline of each graph.
  Status for_each_pipeline(const std::string& spec, const std::string& kernel,
                           const std::function<Status(Pipeline&)>& each);
  // Returns true if the operation failed on a graph whose record has no error of tinygrad.
  bool has_failures() const { return num_failures_ > 0; }

 private:
  void note_failure(const std::string& name, bool expected, const Diag& diag);

  const Session& session_;
  size_t num_graphs_done_ = 0, num_failures_ = 0, num_expected_errors_ = 0;
  std::optional<Diag> first_failure_;
};

// Copies `in` into a new Graph with `settings` and begins to compile the copy for `target`. Facts are cached per Graph
// and can change later rewrites, so compiling one Graph twice may give two results.
Result<Compilation> compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                                 const Settings& settings);

// Shard K of N: lets several processes or machines divide work without communicating.
struct Shard {
  uint64_t shard_number = 1, num_shards = 1;

  // Parses "2/4", the second of four shards. Fails for a text of another form, or unless 1 <= K <= N <= 65536 in "K/N".
  static Result<Shard> parse(const std::string& text);
  // `n` is the number or hash of an item.
  bool has_item(uint64_t n) const { return n % num_shards == shard_number - 1; }
};

}  // namespace tgc
