// NameTable: maps a name to its index in a fixed list. Its hash reads only the length and four characters of the name.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tgc {

class NameTable {
 public:
  // `names` must outlive the table. If a name occurs twice, find() returns its first index.
  explicit NameTable(std::span<const std::string_view> names)
      : names_(names), hash_slots_(std::bit_ceil(4 * names.size() + 1), 0) {
    for (size_t i = 0; i < names.size(); i++)
      if (find(names[i]) < 0) *find_free_slot(names[i]) = uint16_t(i + 1);
  }
  // Returns the index of `name`; -1 if it is not in the list.
  int find(std::string_view name) const {
    for (size_t i = hash_name(name);; i++) {
      uint16_t slot = hash_slots_[i & (hash_slots_.size() - 1)];
      if (slot == 0) return -1;
      if (names_[slot - 1u] == name) return slot - 1;
    }
  }

 private:
  static size_t hash_name(std::string_view name) {
    if (name.empty()) return 0;
    auto at = [&](size_t i) { return size_t(uint8_t(name[i])); };
    return name.size() * 7 + at(0) * 31 + at(name.size() / 2) * 131 + at(name.size() - 1) * 17 +
           at(name.size() > 1 ? 1 : 0) * 61;
  }
  uint16_t* find_free_slot(std::string_view name) {
    size_t i = hash_name(name);
    while (hash_slots_[i & (hash_slots_.size() - 1)]) i++;
    return &hash_slots_[i & (hash_slots_.size() - 1)];
  }

  std::span<const std::string_view> names_;
  std::vector<uint16_t> hash_slots_;
};

}  // namespace tgc
