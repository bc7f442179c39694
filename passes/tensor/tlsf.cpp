#include "passes/tensor/tlsf.h"

#include <algorithm>
#include <bit>

#include "lib/support/check.h"
#include "lib/support/result.h"

namespace tgc {
namespace {

int bit_length(int64_t v) { return int(std::bit_width(uint64_t(v))); }

}  // namespace

TlsfAllocator::TlsfAllocator(int64_t size, int64_t block_size, int lv2_count)
    : block_size_(block_size),
      lv2_bits_(bit_length(lv2_count)),
      free_(size_t(bit_length(size)) + 1),
      entries_(free_.size()) {
  for (auto& level : free_) level.resize(size_t(1) << lv2_bits_);
  blocks_[0] = {size, kNone, kNone, true};
  if (size > 0) insert(0, size, kNone);
}

std::vector<int64_t>& TlsfAllocator::list_of(int64_t size) {
  int first = bit_length(size);
  int64_t second = (size - (int64_t(1) << (first - 1))) >> std::max(0, first - lv2_bits_);
  return free_[size_t(first)][size_t(second)];
}

void TlsfAllocator::insert(int64_t start, int64_t size, int64_t previous) {
  list_of(size).push_back(start);
  entries_[size_t(bit_length(size))]++;
  blocks_[start] = {size, start + size, previous, true};
}

void TlsfAllocator::remove(int64_t start) {
  Block& block = blocks_.at(start);
  auto& list = list_of(block.size);
  list.erase(std::find(list.begin(), list.end(), start));
  entries_[size_t(bit_length(block.size))]--;
  block.is_free = false;
}

void TlsfAllocator::link_back(int64_t next, int64_t start) {
  if (auto it = blocks_.find(next); it != blocks_.end()) it->second.previous = start;
}

// Splits a free block into a block of `size` bytes and the rest.
void TlsfAllocator::split(int64_t start, int64_t size) {
  Block whole = blocks_.at(start);
  TGC_CHECK(whole.is_free, "a block that is split must be free");
  remove(start);
  insert(start, size, whole.previous);
  insert(start + size, whole.size - size, start);
  link_back(whole.next, start + size);
}

void TlsfAllocator::merge(int64_t start) {
  for (int64_t p = blocks_.at(start).previous; p != kNone && blocks_.at(p).is_free; p = blocks_.at(p).previous)
    start = p;
  for (auto next = blocks_.find(blocks_.at(start).next); next != blocks_.end() && next->second.is_free;
       next = blocks_.find(blocks_.at(start).next)) {
    Block block = blocks_.at(start);
    int64_t added = next->second.size;
    remove(start);
    remove(next->first);
    blocks_.erase(next);
    insert(start, block.size + added, block.previous);
  }
  link_back(blocks_.at(start).next, start);
}

int64_t TlsfAllocator::allocate(int64_t asked) {
  asked = std::max(block_size_, asked);
  // round up to the lower bound of a list, so that any block of that list is large enough
  int64_t step = int64_t(1) << std::max(0, bit_length(asked) - lv2_bits_);
  int64_t size = (asked + step - 1) / step * step;
  auto first = size_t(bit_length(size));
  for (size_t l1 = first; l1 < free_.size(); l1++) {
    if (entries_[l1] == 0) continue;
    size_t l2 = l1 == first ? size_t((size - (int64_t(1) << (first - 1))) >> std::max(0, int(first) - lv2_bits_)) : 0;
    for (; l2 < free_[l1].size(); l2++) {
      if (free_[l1][l2].empty()) continue;
      int64_t start = free_[l1][l2].front();
      TGC_CHECK(blocks_.at(start).size >= size, "a block of this list is large enough");
      if (blocks_.at(start).size > asked) split(start, asked);
      remove(start);
      return start;
    }
  }
  throw Failure("cannot allocate " + std::to_string(asked) + " bytes");
}

void TlsfAllocator::free(int64_t start) {
  Block block = blocks_.at(start);
  insert(start, block.size, block.previous);
  merge(start);
}

}  // namespace tgc
