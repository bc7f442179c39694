// What a verb over many graphs does when a stage refuses one of them: it tells of that one, counts it, and goes on.
// A graph that tinygrad refused too when it was recorded is as it should be.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/driver/session.h"

namespace tgc {

class FailureCollector {
 public:
  explicit FailureCollector(const Session& session) : session_(session) {}

  // Calls `each` with every graph of an INPUT, as for_each_graph; where it refuses some of several, how many is noted.
  // Errors: of the input; all were refused; the session is cancelled.
  Status for_each(const std::string& spec, const std::string& kernel, const std::function<Status(InputGraph)>& each);
  // Whether tgc refused what tinygrad did not.
  bool failed() const { return refused_ > 0; }

 private:
  void note(const std::string& name, bool expected, const Diag& diag);

  const Session& session_;
  size_t done_ = 0, refused_ = 0, expected_ = 0;
  std::optional<Diag> first_;
};

}  // namespace tgc
