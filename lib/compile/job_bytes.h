#pragma once
#include <tuple>

#include "lib/compile/compile.h"
#include "lib/contain/bytes.h"

namespace tgc {

// Adding a member to CompileJob without naming it here is a compile error.
auto job_members(auto& job) {
  auto& [language, machine, arch, source, name, lines, timeout_seconds, passes, by_other, fault] = job;
  return std::tie(language, machine, arch, source, name, lines, timeout_seconds, passes, by_other, fault);
}

inline void write_member(ByteWriter& out, const std::string& text) { out.write_text(text); }
inline void write_member(ByteWriter& out, double number) { out.write_bytes(&number, sizeof number); }
template <class Number>
void write_member(ByteWriter& out, Number number) {
  out.write_number(uint64_t(number));
}
inline void write_member(ByteWriter& out, const CompileJob& job) {
  std::apply([&](const auto&... member) { (write_member(out, member), ...); }, job_members(job));
}

inline void read_member(ByteReader& in, std::string& text) { text = in.read_text(); }
inline void read_member(ByteReader& in, double& number) { in.read_bytes(&number, sizeof number); }
template <class Number>
void read_member(ByteReader& in, Number& number) {
  number = Number(in.read_number());
}
inline void read_member(ByteReader& in, CompileJob& job) {
  std::apply([&](auto&... member) { (read_member(in, member), ...); }, job_members(job));
}

}  // namespace tgc
