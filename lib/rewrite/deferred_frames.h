// The deferred frames of a rewrite: frames that wait for the result of another node. Unblocked frames are taken in the
// same order as in tinygrad. Private to lib/rewrite.
//
// tinygrad moves a frame that cannot proceed to the bottom of its stack, and tries the frames there when no others are
// left. So the deferred frames form a ring that tinygrad cycles through. This class takes the frames in the order of
// that ring without visiting blocked frames. `ring_position`, a number that grows along the ring, orders the frames.
//
// near_frames_ and far_frames_ hold the unblocked frames ahead of the current position, next_round_frames_ those at or
// behind it. Most frames are taken soon after they are unblocked; they are inserted into near_frames_, a sorted array.
// Others are added to far_frames_, a heap. next_round_frames_ is sorted when the next round begins.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// A frame of the rewrite's work stack: a node, its current replacement, and the step to do next.
struct RewriteFrame {
  UOp node;
  UOp new_node;
  uint32_t next_step;
};

class DeferredFrames {
 public:
  void clear();
  size_t size() const { return size_; }

  // Adds a frame, after the current position, that is blocked until node `waits_for` has a result.
  void add_frame(const RewriteFrame& frame, UOp waits_for);
  // Unblocks the frames that wait for node `u`. Call it when the result of `u` is known.
  void mark_node_done(UOp u) {
    if (size_ && u.id() < waiting_entries_.size() && waiting_entries_[u.id()]) [[unlikely]]
      unblock_frames(waiting_entries_[u.id()]);
  }
  // Calls mark_node_done(node) for every node that a frame waits for and for which is_done(node) is true.
  template <class IsDone>
  void recheck_blocked_frames(IsDone is_done) {
    for (uint32_t i = frame_entries_[0].next; i; i = frame_entries_[i].next)
      if (is_done(frame_entries_[i].blocking_node)) mark_node_done(frame_entries_[i].blocking_node);
  }
  // Removes the next unblocked frame in ring order and stores it in `next`. Returns false if no frame is unblocked.
  bool take_next_frame(RewriteFrame& next);

 private:
  struct FrameEntry {
    RewriteFrame frame;
    UOp blocking_node;                 // the node that the frame waits for; empty if the frame is unblocked
    uint64_t ring_position;
    uint32_t prev, next;      // neighbours in the ring; `next` also links unused entries
    uint32_t next_waiter;     // index of the next entry that waits for the same node; 0 if there is none
  };

  struct ReadyFrame {
    uint64_t ring_position;
    uint32_t entry_index;
    bool operator>(const ReadyFrame& other) const { return ring_position > other.ring_position; }
  };

  void unblock_frames(uint32_t& first);
  void insert_ready_frame(const ReadyFrame& ready);
  void make_room_after(uint32_t at);
  uint32_t new_entry();

  std::vector<FrameEntry> frame_entries_;  // entry 0 is a sentinel where each round begins and ends
  // index of the entry at the current position; new frames are inserted after it
  uint32_t current_entry_ = 0;
  uint32_t free_entry_ = 0;
  size_t size_ = 0;
  // unblocked frames ahead of current_entry_; near_frames_: in descending order; far_frames_: a heap
  std::vector<ReadyFrame> near_frames_, far_frames_;
  std::vector<ReadyFrame> next_round_frames_;  // unblocked frames at or before current_entry_, not sorted
  // indexed by node id: the newest entry that waits for the node; 0 if none does
  std::vector<uint32_t> waiting_entries_;
};

}  // namespace tgc
