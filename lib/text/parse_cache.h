// Caches the values of short texts. A new entry replaces the old entry of its slot. T must not refer to a Graph's data.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tgc {

template <class T>
class ParseCache {
 public:
  // Returns null if `piece` is not cached. find_value() and store_value() may read 8 bytes from piece.data() on, even
  // of a shorter piece.
  const T* find_value(std::string_view piece) const {
    const CacheSlot& slot = slots_[hash_piece(piece) % kNumSlots];
    return !piece.empty() && slot.size == piece.size() && std::memcmp(slot.text, piece.data(), piece.size()) == 0
               ? &slot.value
               : nullptr;
  }
  void store_value(std::string_view piece, const T& value) {
    if (piece.empty() || piece.size() > kMaxPieceBytes) return;
    CacheSlot& slot = slots_[hash_piece(piece) % kNumSlots];
    slot.size = uint8_t(piece.size());
    std::memcpy(slot.text, piece.data(), piece.size());
    slot.value = value;
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  static constexpr size_t kNumSlots = 512, kMaxPieceBytes = 39;
  struct CacheSlot {
    uint8_t size;
    char text[kMaxPieceBytes];
    T value;
  };

  // Hashes the length, the first 8 bytes and the last 8 bytes, in which dtypes and constants usually differ.
  static size_t hash_piece(std::string_view piece) {
    auto load = [](const char* at) {
      uint64_t v;
      std::memcpy(&v, at, sizeof v);
      return v;
    };
    uint64_t first = load(piece.data());
    uint64_t h = piece.size() < 8 ? first & ((uint64_t{1} << 8 * piece.size()) - 1)
                                  : first * 0x9E3779B97F4A7C15ull ^ load(piece.data() + piece.size() - 8);
    h = (h ^ piece.size()) * 0x9E3779B97F4A7C15ull;
    return h >> 32;
  }

  CacheSlot slots_[kNumSlots] = {};
};

}  // namespace tgc
