#include "lib/rewrite/deferred_frames.h"

#include <algorithm>
#include <functional>

namespace tgc {

namespace {
constexpr int kPlaceBits = 62;
constexpr uint64_t kEnd = uint64_t(1) << kPlaceBits;
}  // namespace

void DeferredFrames::clear() {
  for (const Entry& e : ring_)  // there are entries only if an exception ended the previous rewrite
    if (e.node) waits_for_[e.node.id()] = 0;
  ring_.clear(), near_.clear(), far_.clear(), next_round_.clear();
  turn_ = free_ = 0, size_ = 0;
}

uint32_t DeferredFrames::new_entry() {
  if (ring_.empty()) ring_.push_back({});
  if (free_) return std::exchange(free_, ring_[free_].next);
  ring_.push_back({});
  return uint32_t(ring_.size() - 1);
}

void DeferredFrames::add(const RewriteFrame& frame, UOp waits_for) {
  constexpr uint64_t kFar = uint64_t(1) << 32;
  uint32_t at = new_entry();
  uint64_t room;
  auto look = [&] {
    uint32_t next = ring_[turn_].next;
    return room = (next ? ring_[next].place : kEnd) - ring_[turn_].place;
  };
  if (look() < 2) make_room_after(turn_), look();
  // use little of the gap between the two position numbers, because the next frame is probably added after this one
  uint64_t place = ring_[turn_].place + std::clamp<uint64_t>(room >> 10, 1, kFar);

  if (waits_for.id() >= waits_for_.size()) waits_for_.resize(waits_for.id() + 1 + waits_for.id() / 2);
  uint32_t next = ring_[turn_].next;
  ring_[at] = {frame, waits_for, place, turn_, next, std::exchange(waits_for_[waits_for.id()], at)};
  ring_[turn_].next = ring_[next].prev = at;
  turn_ = at;
  size_++;
}

// Unblocks all entries of the list that begins with entry `first`; they wait for the same node. Empties the list.
void DeferredFrames::wake(uint32_t& first) {
  const uint64_t now = ring_[turn_].place;
  for (uint32_t i = std::exchange(first, 0); i; i = ring_[i].next_waiter) {
    Ready ready{ring_[i].place, i};
    if (ready.place > now) put_ahead(ready);
    else next_round_.push_back(ready);
    ring_[i].node = {};
  }
}

void DeferredFrames::put_ahead(const Ready& ready) {
  constexpr size_t kNear = 16;  // number of entries of near_ to scan; a frame that belongs behind them goes into far_
  size_t end = near_.size(), at = end;
  while (at > 0 && end - at < kNear && ready > near_[at - 1]) at--;
  if (at == 0 || !(ready > near_[at - 1])) {
    near_.insert(near_.begin() + ptrdiff_t(at), ready);
  } else {
    far_.push_back(ready);
    std::push_heap(far_.begin(), far_.end(), std::greater());
  }
}

bool DeferredFrames::take(RewriteFrame& next) {
  if (near_.empty() && far_.empty()) {
    near_.swap(next_round_);
    std::sort(near_.begin(), near_.end(), std::greater());
    if (near_.empty()) return false;
  }
  if (near_.empty() || (!far_.empty() && near_.back() > far_.front())) {
    std::pop_heap(far_.begin(), far_.end(), std::greater());
    near_.push_back(far_.back());
    far_.pop_back();
  }
  uint32_t at = near_.back().at;
  near_.pop_back();
  Entry& e = ring_[at];
  next = e.frame;
  turn_ = e.prev;
  ring_[e.prev].next = e.next, ring_[e.next].prev = e.prev;
  e.next = std::exchange(free_, at);
  size_--;
  return true;
}

// Makes a gap between the position numbers of entry `at` and the next entry. Spreads the numbers evenly in the smallest
// aligned interval around `at` whose density is below a limit. The limit falls with the length of the interval, so long
// intervals are rarely renumbered (Bender et al., "Two simplified algorithms for maintaining order in a list").
void DeferredFrames::make_room_after(uint32_t at) {
  constexpr double kMaxDensity = 2.0 / 3;  // the limit on the density falls by this factor if the length doubles
  uint32_t first = at, last = at;
  uint64_t count = 1;
  double density = 1;
  for (int bits = 1;; bits++) {
    uint64_t low = ring_[at].place >> bits << bits, length = uint64_t(1) << bits;
    density *= kMaxDensity;
    for (; first && ring_[ring_[first].prev].place >= low; count++) first = ring_[first].prev;
    for (uint32_t n; (n = ring_[last].next) && ring_[n].place < low + length; count++) last = n;
    if (bits < kPlaceBits && double(count) > density * double(length)) continue;
    for (uint64_t i = 0; i < count; i++, first = ring_[first].next) ring_[first].place = low + i * (length / count);
    for (auto* frames : {&near_, &far_, &next_round_})
      for (Ready& ready : *frames) ready.place = ring_[ready.at].place;
    return;
  }
}

}  // namespace tgc
