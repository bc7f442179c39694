// From a name to its number in a fixed list: a hash table of a few characters,
// for readers that look names up millions of times.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tgc {

class NameTable {
 public:
  // The names must outlive the table. Of equal names the first counts.
  explicit NameTable(std::span<const std::string_view> names)
      : names_(names), slots_(std::bit_ceil(4 * names.size() + 1), 0) {
    for (size_t i = 0; i < names.size(); i++)
      if (find(names[i]) < 0) *free_slot(names[i]) = uint16_t(i + 1);
  }
  // -1 when `name` is none of them.
  int find(std::string_view name) const {
    for (size_t i = hash(name);; i++) {
      uint16_t slot = slots_[i & (slots_.size() - 1)];
      if (slot == 0) return -1;
      if (names_[slot - 1u] == name) return slot - 1;
    }
  }

 private:
  static size_t hash(std::string_view name) {
    if (name.empty()) return 0;
    auto at = [&](size_t i) { return size_t(uint8_t(name[i])); };
    return name.size() * 7 + at(0) * 31 + at(name.size() / 2) * 131 + at(name.size() - 1) * 17 +
           at(name.size() > 1 ? 1 : 0) * 61;
  }
  uint16_t* free_slot(std::string_view name) {
    size_t i = hash(name);
    while (slots_[i & (slots_.size() - 1)]) i++;
    return &slots_[i & (slots_.size() - 1)];
  }

  std::span<const std::string_view> names_;
  std::vector<uint16_t> slots_;
};

}  // namespace tgc
