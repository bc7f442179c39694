// The frames of a rewrite that wait for the result of a node, in tinygrad's order. For lib/rewrite alone.
//
// tinygrad puts a frame that cannot go on yet at the bottom of its stack, and takes from there when nothing else is
// left; one that still cannot go on is put back to the bottom. So they lie in a ring through which it goes round and
// round. Here nobody goes past those that must wait: a frame has a place in the ring, a number that grows along it, and
// those that may go on lie ready by place: those ahead of where the round is now, the nearest last, and those of the
// next round, sorted when it begins. One that a node wakes is as a rule among the next to go on, and is put there by
// hand; those farther off lie in a heap.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// A node and what has been made of it so far, and what is to be done next.
struct RewriteFrame {
  UOp n;
  UOp new_n;
  uint32_t stage;
};

class DeferredFrames {
 public:
  void clear();
  size_t size() const { return size_; }

  // Comes after all others.
  void add(const RewriteFrame& frame, UOp waits_for);
  // The node has a result: those that wait for it may go on.
  void done(UOp u) {
    if (size_ && u.id() < waits_for_.size() && waits_for_[u.id()]) [[unlikely]] wake(waits_for_[u.id()]);
  }
  // Tells of all nodes that are waited for and of which is_done(node).
  template <class IsDone>
  void look_again(IsDone is_done) {
    for (uint32_t i = ring_[0].next; i; i = ring_[i].next)
      if (is_done(ring_[i].node)) done(ring_[i].node);
  }
  // Whether one may go on; then the next of them is taken out.
  bool take(RewriteFrame& next);

 private:
  struct Entry {
    RewriteFrame frame;
    UOp node;                 // that it waits for
    uint64_t place;
    uint32_t prev, next;      // in the ring; of what is free the next
    uint32_t also;            // the next that waits for the same node, or 0
  };

  // A frame that may go on: its place and its entry.
  struct Ready {
    uint64_t place;
    uint32_t at;
    bool operator>(const Ready& other) const { return place > other.place; }
  };

  void wake(uint32_t& first);
  void put_ahead(const Ready& ready);
  void make_room_after(uint32_t at);
  uint32_t new_entry();

  std::vector<Entry> ring_;             // the entry at 0 is no frame: a round begins behind it, and ends there
  uint32_t turn_ = 0;                   // the round has come to the end of this one
  uint32_t free_ = 0;                   // an entry that is free, or 0
  size_t size_ = 0;
  std::vector<Ready> near_, far_;       // ahead: sorted, the next is the last; a heap, the next is on top
  std::vector<Ready> next_round_;       // in no order
  std::vector<uint32_t> waits_for_;     // by node: the entry that came to wait for it last, or 0
};

}  // namespace tgc
