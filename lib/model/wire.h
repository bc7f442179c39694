// WireReader: iterates over the fields of a protobuf message (tinygrad: nn/onnx.py). A malformed message throws Failure
// with the byte position.
#pragma once
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

class WireReader {
 public:
  // `what` names the message in errors, whose positions count from `start`.
  WireReader(std::string_view bytes, const char* what, const char* start)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()), message_name_(what), start_(start) {}

  // Goes to the next field, and skips the value of the current one if it was not read. Returns false at the end.
  bool next_field() {
    if (!is_value_read_) skip_value();
    if (position_ == end_) return false;
    uint64_t tag = read_varint();
    field_number_ = uint32_t(tag >> 3), wire_type_ = uint32_t(tag & 7), is_value_read_ = false;
    if (field_number_ == 0 || tag >> 32) fail("no field has the tag " + std::to_string(tag));
    return true;
  }
  uint32_t field_number() const { return field_number_; }

  int64_t integer() { return require_type(0), int64_t(read_varint()); }
  float float32() {
    require_type(5);
    return std::bit_cast<float>(read_fixed<uint32_t>());
  }
  std::string_view bytes() { return require_type(2), read_bytes(); }
  std::string string() { return std::string(bytes()); }
  WireReader message(const char* what) { return WireReader(bytes(), what, start_); }

  // Appends the current field, a varint or a packed list of varints.
  void append_integers(std::vector<int64_t>& out) {
    if (wire_type_ == 0) return out.push_back(integer());
    WireReader packed = message(message_name_);
    while (packed.position_ != packed.end_) out.push_back(int64_t(packed.read_varint()));
  }
  // Returns the bytes of the current field, which is packed or has one element of `size` (4 or 8) bytes.
  std::string_view read_fixed_bytes(size_t size) {
    if (wire_type_ == 2) return bytes();
    require_type(size == 4 ? 5 : 1);
    return take_bytes(size);
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(std::string(message_name_) + " at byte " + std::to_string(position_ - start_) + ": " + why);
  }

 private:
  void require_type(uint32_t type) {
    if (wire_type_ != type)
      fail("field " + std::to_string(field_number_) + " has wire type " + std::to_string(wire_type_) + ", not " +
           std::to_string(type));
    is_value_read_ = true;
  }
  std::string_view take_bytes(uint64_t n) {
    if (n > uint64_t(end_ - position_))
      fail("needs " + std::to_string(n) + " bytes, there are " + std::to_string(end_ - position_));
    is_value_read_ = true;
    std::string_view out(position_, n);
    position_ += n;
    return out;
  }
  std::string_view read_bytes() { return take_bytes(read_varint()); }
  template <class T>
  T read_fixed() {
    T out;
    std::memcpy(&out, take_bytes(sizeof(T)).data(), sizeof(T));
    return out;
  }
  uint64_t read_varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (position_ == end_) fail("ends inside a number");
      auto byte = uint8_t(*position_++);
      out |= shift < 64 ? uint64_t(byte & 127) << shift : 0;
      if (!(byte & 128)) return out;
    }
    fail("a number of more than ten bytes");
  }
  void skip_value() {
    is_value_read_ = true;
    if (wire_type_ == 0) read_varint();
    else if (wire_type_ == 1) take_bytes(8);
    else if (wire_type_ == 2) read_bytes();
    else if (wire_type_ == 5) take_bytes(4);
    else fail("field " + std::to_string(field_number_) + " has the unknown wire type " + std::to_string(wire_type_));
  }

  const char *position_, *end_, *message_name_, *start_;
  uint32_t field_number_ = 0, wire_type_ = 0;
  bool is_value_read_ = true;
};

}  // namespace tgc
