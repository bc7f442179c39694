// Storage of a Graph's interned texts (Str, Bytes, Raw), tuples and records: a header followed by the characters or
// items. Private to arg.cpp and graph.cpp.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

struct Graph::InternedText {
  uint32_t size;
  uint32_t hash;
  std::string_view as_view() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

struct Graph::InternedItems {
  uint32_t size;
  uint32_t hash;
  std::span<const Arg> as_view() const { return {reinterpret_cast<const Arg*>(this + 1), size}; }
};

}  // namespace tgc
