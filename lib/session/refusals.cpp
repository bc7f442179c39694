#include "lib/session/refusals.h"

namespace tgc {

void Refusals::note(const std::string& name, bool expected, const Diag& diag) {
  constexpr size_t kMostTold = 3;
  if (!first_) first_ = diag;
  if (expected) return void(expected_++);
  if (refused_++ >= kMostTold) return;
  Diag named = diag;
  named.message = name + ": " + diag.message;
  session_.warn(named);
}

Status Refusals::any_done() const { return done_ || !first_ ? Status(Unit{}) : Status(*first_); }

std::string Refusals::text() const {
  const size_t all = refused_ + expected_;
  if (!all) return {};
  std::string out = std::to_string(all) + " of " + std::to_string(all + done_) + " graphs were refused";
  if (expected_) out += ", " + std::to_string(expected_) + " of them by tinygrad too";
  return out;
}

}  // namespace tgc
