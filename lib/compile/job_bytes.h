// Serializes a CompileJob. Messages to workers and cache keys use the same list of members, so that none is forgotten.
#pragma once
#include <tuple>

#include "lib/compile/compile.h"
#include "lib/contain/bytes.h"

namespace tgc {

// A tuple of references to all members. Adding a member to CompileJob without naming it here is a compile error.
auto members_of(auto& job) {
  auto& [language, machine, arch, source, name, lines, timeout_seconds, passes, by_other, fault] = job;
  return std::tie(language, machine, arch, source, name, lines, timeout_seconds, passes, by_other, fault);
}

inline void put(ByteWriter& out, const std::string& text) { out.text(text); }
inline void put(ByteWriter& out, double number) { out.raw(&number, sizeof number); }
template <class Number>
void put(ByteWriter& out, Number number) {
  out.number(uint64_t(number));
}
inline void put(ByteWriter& out, const CompileJob& job) {
  std::apply([&](const auto&... member) { (put(out, member), ...); }, members_of(job));
}

inline void get(ByteReader& in, std::string& text) { text = in.text(); }
inline void get(ByteReader& in, double& number) { in.raw(&number, sizeof number); }
template <class Number>
void get(ByteReader& in, Number& number) {
  number = Number(in.number());
}
inline void get(ByteReader& in, CompileJob& job) {
  std::apply([&](auto&... member) { (get(in, member), ...); }, members_of(job));
}

}  // namespace tgc
