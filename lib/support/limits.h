// Limits on the resources that an input may use, so that a hostile or mistaken input ends with an error message. Limits
// are process-wide: from `--limit NAME=VALUE`, else from the environment variable TGC_LIMITS, else the default.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// X(enumerator, name, default, unit and meaning). 0: no limit. The operating system enforces `memory` and `seconds`.
#define TGC_LIMITS(X)                                                                                           \
  X(InputBytes, "input-bytes", int64_t(1) << 29, "unpacked bytes of a text, a golden record, or an npz file") \
  X(Nodes, "nodes", int64_t(1) << 24, "nodes of one graph, including those made by its compilation")              \
  X(Nesting, "nesting", 1 << 18, "levels of nested brackets in a text")                                             \
  X(IntBits, "int-bits", 4096, "bits of an integer in a graph")                                                 \
  X(ModelNodes, "model-nodes", 1000000, "executed ONNX nodes, with functions, loops and scans unrolled")        \
  X(ModelDepth, "model-depth", 64, "levels of nested ONNX functions and subgraphs")                             \
  X(RefSteps, "ref-steps", 0, "iterations of one kernel's ranges in REF")                                       \
  X(RefSeconds, "ref-seconds", 60, "seconds for one kernel in REF; --timeout overrides it")                    \
  X(Seconds, "seconds", 0, "seconds of the whole command")                                                      \
  X(Memory, "memory", 0, "bytes of memory of the process")

enum class Limit : uint8_t {
#define X(id, ...) id,
  TGC_LIMITS(X)
#undef X
};

inline constexpr std::string_view kLimitsHelp =
    "Limits on what an input may use: --limit NAME=VALUE, else TGC_LIMITS=NAME=VALUE,NAME=VALUE, else the default.\n"
    "VALUE: a number, optionally with K, M, G or T (powers of 1024); 0: no limit. Exceeding a limit is exit code 2.\n";
struct LimitInfo {
  std::string_view name;
  int64_t default_value;
  std::string_view help_text;
};
std::span<const LimitInfo> all_limits();

int64_t limit_value(Limit which);

// Sets limits from NAME=VALUE[,NAME=VALUE...]. A value is a number, optionally followed by K, M, G or T (powers of
// 1024). Returns an error for the first unknown limit or invalid value; the limits before it are set.
Status set_limits(std::string_view text);
Status set_limits_of_environment();
// Makes the system enforce the current `memory` (RLIMIT_DATA; not in builds with sanitizers) and `seconds` (an alarm,
// whose handler exits with code 2).
void enforce_process_limits();

Diag limit_error(Limit which);
inline void check_limit(Limit which, int64_t amount) {
  if (amount > limit_value(which)) throw Failure(limit_error(which));
}
// Returns a * b, for a and b >= 0. Throws limit_error(which) if the product overflows or exceeds the limit.
inline int64_t checked_product(Limit which, int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw Failure(limit_error(which));
  check_limit(which, product);
  return product;
}

// Set and return whether kernels with CUSTOM or CUSTOMI nodes, which contain source code, may be compiled and run. The
// default is false.
void set_custom_ops_allowed(bool allowed);
bool are_custom_ops_allowed();

}  // namespace tgc
