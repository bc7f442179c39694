// Runs an operation on many graphs. If it fails on a graph, reports and counts the failure and continues with the next
// graph. A failure is not counted if the graph's record says that tinygrad refused the graph, too.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/driver/session.h"

namespace tgc {

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

}  // namespace tgc
