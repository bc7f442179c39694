// Helpers of commands that work on many graphs: collecting failures, copying a graph before it is compiled, and
// dividing the graphs into shards.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/driver/session.h"
#include "lib/support/result.h"

namespace tgc {

// Runs an operation on many graphs. If it fails on a graph, reports and counts the failure and continues with the next
// graph. A failure is not counted if the graph's record says that tinygrad refused the graph, too.
class FailureCollector {
 public:
  explicit FailureCollector(const Session& session) : session_(session) {}

  // Calls `each` with every graph of an INPUT (see for_each_graph). Prints on how many of the graphs `each` failed, if
  // any. Errors: the input cannot be read; `each` failed on all graphs; the session is cancelled.
  Status for_each(const std::string& spec, const std::string& kernel, const std::function<Status(InputGraph)>& each);
  Status for_each_pipeline(const std::string& spec, const std::string& kernel,
                           const std::function<Status(Pipeline&)>& each);
  // Returns whether `each` failed on a graph that its record does not mark as refused by tinygrad.
  bool failed() const { return refused_ > 0; }

 private:
  void note(const std::string& name, bool expected, const Diag& diag);

  const Session& session_;
  size_t done_ = 0, refused_ = 0, expected_ = 0;
  std::optional<Diag> first_;
};

// Compiles a copy of a graph. Facts are cached per Graph and can change later rewrites, so compiling the same Graph
// twice may give two results; copies do not affect each other.

// Copies `in` into a new Graph with `settings` and begins to compile the copy for `target`.
Result<Compilation> compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                                 const Settings& settings);

// Shard K of N: lets several processes or machines divide work without communicating.
struct Shard {
  uint64_t number = 1, of = 1;

  // Parses "2/4", the second of four shards.
  static Result<Shard> parse(const std::string& text);
  // Returns whether the item with number or hash `n` is in this shard.
  bool has(uint64_t n) const { return n % of == number - 1; }
};

}  // namespace tgc
