// A hash map from the nodes of one linear list to T, whose size depends on the list and not on the graph.
#pragma once
#include <bit>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

template <class T>
class ListMap {
 public:
  // Creates a map for up to `most` nodes.
  explicit ListMap(size_t most)
      : slots_(std::bit_ceil(2 * most + 2)),
        first_slot_(slots_.data()),
        slot_mask_(uint32_t(slots_.size() - 1)),
        hash_shift_(32 - std::bit_width(slot_mask_)) {}

  T& operator[](UOp u) {
    Slot& s = slot(u);
    s.node = u.node();
    return s.value;
  }
  T* find(UOp u) {
    Slot& s = slot(u);
    return s.node ? &s.value : nullptr;
  }

 private:
  struct Slot {
    const Node* node = nullptr;
    T value{};
  };

  Slot& slot(UOp u) {
    uint32_t i = u.id() * 0x9E3779B1u >> hash_shift_;
    while (first_slot_[i].node != u.node() && first_slot_[i].node) i = (i + 1) & slot_mask_;
    return first_slot_[i];
  }

  std::vector<Slot> slots_;
  Slot* first_slot_;
  uint32_t slot_mask_;
  int hash_shift_;
};

}  // namespace tgc
