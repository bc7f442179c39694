// What a verb over many graphs does when a stage refuses one of them: it tells of that one, counts it, and goes on.
// A graph that tinygrad refused too when it was recorded is as it should be.
#pragma once
#include <string>

#include "lib/session/session.h"

namespace tgc {

class Refusals {
 public:
  explicit Refusals(const Session& session) : session_(session) {}

  // `work(graph)` on the next graph. An error only where nothing is to come after it: the session is cancelled.
  template <class Work>
  Status around(Loaded graph, Work&& work) {
    const std::string name = graph.info.name;
    const bool expected = graph.record && graph.record->error;
    Status status = work(std::move(graph));
    if (status || session_.cancelled()) return done_ += status.ok(), status;
    return note(name, expected, status.diag()), Unit{};
  }
  // After the last graph. An error: all were refused.
  Status any_done() const;
  // Whether tgc refused what tinygrad did not.
  bool failed() const { return refused_ > 0; }
  // "3 of 40 graphs were refused, 2 of them by tinygrad too"; empty: none.
  std::string text() const;

 private:
  void note(const std::string& name, bool expected, const Diag& diag);

  const Session& session_;
  size_t done_ = 0, refused_ = 0, expected_ = 0;
  std::optional<Diag> first_;
};

}  // namespace tgc
