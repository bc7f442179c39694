#include "lib/rewrite/deferred_frames.h"

#include <algorithm>
#include <functional>

namespace tgc {

namespace {
constexpr int kPositionBits = 62;
constexpr uint64_t kEnd = uint64_t(1) << kPositionBits;
}  // namespace

void DeferredFrames::clear() {
  for (const FrameEntry& e : frame_entries_)  // a frame still waits only if an exception ended the previous rewrite
    if (e.blocking_node) waiting_entries_[e.blocking_node.id()] = 0;
  frame_entries_.clear(), near_frames_.clear(), far_frames_.clear(), next_round_frames_.clear();
  current_entry_ = free_entry_ = 0, size_ = 0;
}

uint32_t DeferredFrames::new_entry() {
  if (frame_entries_.empty()) frame_entries_.push_back({});
  if (free_entry_) return std::exchange(free_entry_, frame_entries_[free_entry_].next);
  frame_entries_.push_back({});
  return uint32_t(frame_entries_.size() - 1);
}

void DeferredFrames::add_frame(const RewriteFrame& frame, UOp waits_for) {
  constexpr uint64_t kFar = uint64_t(1) << 32;
  uint32_t at = new_entry();
  uint64_t room;
  auto look = [&] {
    uint32_t next = frame_entries_[current_entry_].next;
    return room = (next ? frame_entries_[next].ring_position : kEnd) - frame_entries_[current_entry_].ring_position;
  };
  if (look() < 2) make_room_after(current_entry_), look();
  // use little of the gap before the next entry's position, because the next frame is probably added after this one
  uint64_t position = frame_entries_[current_entry_].ring_position + std::clamp<uint64_t>(room >> 10, 1, kFar);

  if (waits_for.id() >= waiting_entries_.size()) waiting_entries_.resize(waits_for.id() + 1 + waits_for.id() / 2);
  uint32_t next = frame_entries_[current_entry_].next;
  frame_entries_[at] = {frame,          waits_for, position,
                        current_entry_, next,      std::exchange(waiting_entries_[waits_for.id()], at)};
  frame_entries_[current_entry_].next = frame_entries_[next].prev = at;
  current_entry_ = at;
  size_++;
}

void DeferredFrames::unblock_frames(uint32_t& first) {
  const uint64_t now = frame_entries_[current_entry_].ring_position;
  for (uint32_t i = std::exchange(first, 0); i; i = frame_entries_[i].next_waiter) {
    ReadyFrame ready{frame_entries_[i].ring_position, i};
    if (ready.ring_position > now) insert_ready_frame(ready);
    else next_round_frames_.push_back(ready);
    frame_entries_[i].blocking_node = {};
  }
}

void DeferredFrames::insert_ready_frame(const ReadyFrame& ready) {
  // the number of entries at the end of near_frames_ to scan for the index to insert the frame at; a frame that belongs
  // before them is added to far_frames_
  constexpr size_t kNear = 16;
  size_t end = near_frames_.size(), at = end;
  while (at > 0 && end - at < kNear && ready > near_frames_[at - 1]) at--;
  if (at == 0 || !(ready > near_frames_[at - 1])) {
    near_frames_.insert(near_frames_.begin() + ptrdiff_t(at), ready);
  } else {
    far_frames_.push_back(ready);
    std::push_heap(far_frames_.begin(), far_frames_.end(), std::greater());
  }
}

bool DeferredFrames::take_next_frame(RewriteFrame& next) {
  if (near_frames_.empty() && far_frames_.empty()) {
    near_frames_.swap(next_round_frames_);
    std::sort(near_frames_.begin(), near_frames_.end(), std::greater());
    if (near_frames_.empty()) return false;
  }
  if (near_frames_.empty() || (!far_frames_.empty() && near_frames_.back() > far_frames_.front())) {
    std::pop_heap(far_frames_.begin(), far_frames_.end(), std::greater());
    near_frames_.push_back(far_frames_.back());
    far_frames_.pop_back();
  }
  uint32_t at = near_frames_.back().entry_index;
  near_frames_.pop_back();
  FrameEntry& e = frame_entries_[at];
  next = e.frame;
  current_entry_ = e.prev;
  frame_entries_[e.prev].next = e.next, frame_entries_[e.next].prev = e.prev;
  e.next = std::exchange(free_entry_, at);
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
    uint64_t low = frame_entries_[at].ring_position >> bits << bits, length = uint64_t(1) << bits;
    density *= kMaxDensity;
    for (; first && frame_entries_[frame_entries_[first].prev].ring_position >= low; count++)
      first = frame_entries_[first].prev;
    for (uint32_t n; (n = frame_entries_[last].next) && frame_entries_[n].ring_position < low + length; count++)
      last = n;
    if (bits < kPositionBits && double(count) > density * double(length)) continue;
    for (uint64_t i = 0; i < count; i++, first = frame_entries_[first].next)
      frame_entries_[first].ring_position = low + i * (length / count);
    for (auto* frames : {&near_frames_, &far_frames_, &next_round_frames_})
      for (ReadyFrame& ready : *frames) ready.ring_position = frame_entries_[ready.entry_index].ring_position;
    return;
  }
}

}  // namespace tgc
