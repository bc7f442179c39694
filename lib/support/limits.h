// Budgets: how much of everything an input may make this process spend, so that a hostile or a mistaken one ends in a
// message and not in a full memory or an endless run. They hold for the whole process and are set before it begins to
// work: `--limit NAME=VALUE`, else the environment variable TGC_LIMITS (NAME=VALUE,NAME=VALUE), else the default.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// X(enumerator, name, default, what of). 0: any number. `memory` and `seconds` are the system's to keep.
#define TGC_LIMITS(X)                                                                                           \
  X(InputBytes, "input-bytes", int64_t(1) << 29, "bytes of a text, or of a line of golden records, decompressed") \
  X(Nodes, "nodes", int64_t(1) << 24, "nodes of one graph, with all that a compilation makes")                   \
  X(Nesting, "nesting", 1 << 18, "brackets in brackets of a text")                                                \
  X(IntBits, "int-bits", 4096, "bits of an integer in a graph")                                                 \
  X(ModelNodes, "model-nodes", 1000000, "ONNX nodes that are run, functions, loops and scans unrolled")         \
  X(ModelDepth, "model-depth", 64, "ONNX functions and subgraphs in each other")                                \
  X(RefSteps, "ref-steps", 0, "iterations of one kernel's ranges in REF")                                       \
  X(RefSeconds, "ref-seconds", 600, "seconds of one kernel in REF; --timeout goes before")                     \
  X(Seconds, "seconds", 0, "seconds of the whole command")                                                      \
  X(Memory, "memory", 0, "bytes of memory of the process")

enum class Limit : uint8_t {
#define X(id, ...) id,
  TGC_LIMITS(X)
#undef X
};

inline constexpr std::string_view kAboutLimits =
    "Limits of what an input may cost: --limit NAME=VALUE, else TGC_LIMITS=NAME=VALUE,NAME=VALUE, else the default.\n"
    "K, M, G and T behind a number are 1024 of the one before; 0 is no limit. What is over a limit is exit code 2.\n";
struct LimitInfo {
  std::string_view name;
  int64_t default_value;
  std::string_view help;
};
std::span<const LimitInfo> all_limits();

// What holds now; INT64_MAX where there is none.
int64_t limit(Limit which);

// NAME=VALUE[,NAME=VALUE...]; a value is a number, with K, M, G or T behind it 1024 of the one before. An error names
// what is none.
Status set_limits(std::string_view text);
// Those of TGC_LIMITS.
Status set_limits_of_environment();
// Asks the system to keep `memory` and `seconds` from here on; once they are set.
void keep_process_limits();

// "more than 1000 nodes of ...", and how it can be allowed.
Diag over_limit(Limit which);
inline void check_limit(Limit which, int64_t amount) {
  if (amount > limit(which)) throw Failure(over_limit(which));
}
// a * b of two that are not negative, unless that is over the limit.
inline int64_t product_within(Limit which, int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) throw Failure(over_limit(which));
  check_limit(which, out);
  return out;
}

// CUSTOM and CUSTOMI hold source code. It is shown to everybody, but compiled and run only where this was said:
// --allow-custom.
void allow_custom(bool allowed);
bool custom_is_allowed();

}  // namespace tgc
