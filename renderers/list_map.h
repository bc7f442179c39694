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
      : hash_slots_(std::bit_ceil(2 * most + 2)),
        first_slot_(hash_slots_.data()),
        slot_mask_(uint32_t(hash_slots_.size() - 1)),
        hash_shift_(32 - std::bit_width(slot_mask_)) {}

  T& operator[](UOp u) {
    ListSlot& s = slot_of_node(u);
    s.node = u.node();
    return s.value;
  }
  T* find(UOp u) {
    ListSlot& s = slot_of_node(u);
    return s.node ? &s.value : nullptr;
  }

 private:
  struct ListSlot {
    const Node* node = nullptr;
    T value{};
  };

  ListSlot& slot_of_node(UOp u) {
    uint32_t i = u.id() * 0x9E3779B1u >> hash_shift_;
    while (first_slot_[i].node != u.node() && first_slot_[i].node) i = (i + 1) & slot_mask_;
    return first_slot_[i];
  }

  std::vector<ListSlot> hash_slots_;
  ListSlot* first_slot_;
  uint32_t slot_mask_;
  int hash_shift_;
};

}  // namespace tgc
