// Settings: tinygrad's ContextVars and environment variables that the pipeline reads, under tinygrad's names.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

#define TGC_SETTINGS(X)                                                                              \
  X(NOOPT, 0, "1: skip the hand-coded optimizer")                                                    \
  X(IMAGE, 0, "1 or 2: use image dtypes where a buffer fits")                                        \
  X(DEVECTORIZE, 1, "0: keep vector ALU, 1: scalarize, 2: keep vector loads as the graph has them")  \
  X(TRANSCENDENTAL, 1, "2: expand exp2, log2 and sin even where the target has them")                \
  X(TC, 1, "tensor cores: 0 off, 1 on, 2 shape the kernel but emit no WMMA")                         \
  X(TC_SELECT, -1, "index of the tensor core to use, -1: all")                                       \
  X(TC_OPT, 0, "0: only exact matches, 1: also reshaped, 2: also padded")                            \
  X(ALLOW_TF32, 0, "1: allow tf32 tensor cores on NVIDIA GPUs")                                      \
  X(ALLOW_HALF8, 0, "1: allow loads of eight halfs")                                                 \
  X(AMX, 0, "1: use Apple's AMX on the CPU")                                                         \
  X(NOLOCALS, 0, "1: no local memory")                                                               \
  X(DISABLE_FAST_IDIV, 0, "1: keep integer divisions by constants")                                  \
  X(CORRECT_DIVMOD_FOLDING, 0, "1: fold div and mod only where negative numerators stay exact")      \
  X(UNSAFE_DISABLE_MASK, 0, "1: drop the masks of vectorized accesses")                              \
  X(CPU_COUNT, 0, "CPU threads a kernel may use, 0: as many as this machine has")                    \
  X(THREADS, 1, "0: no THREAD axes on the CPU")                                                      \
  X(TUPLE_ORDER, 1, "0: the linearizer sorts by priority alone")                                     \
  X(EXPAND_SSA, 0, "1: name every value in rendered source")                                         \
  X(MV, 1, "0: no matrix-vector heuristic")                                                          \
  X(MV_BLOCKSIZE, 4, "matrix-vector heuristic: block size")                                          \
  X(MV_THREADS_PER_ROW, 8, "matrix-vector heuristic: threads per row")                               \
  X(MV_ROWS_PER_THREAD, 4, "matrix-vector heuristic: rows per thread")                               \
  X(SPEC, 0, "1: verify at the ends of the pipeline, 2: verify every stage")                         \
  X(IGNORE_OOB, 1, "0: prove the bounds of every access")                                            \
  X(SPLIT_REDUCEOP, 1, "0: keep large reductions whole")                                             \
  X(REDUCEOP_SPLIT_THRESHOLD, 32768, "split reductions at least this much larger than their output") \
  X(REDUCEOP_SPLIT_SIZE, 22, "log2 of the intermediate buffer of a split reduction")                 \
  X(PCONTIG, 0, "1 or more: partial contiguous in rangeify")                                         \
  X(MAX_KERNEL_BUFFERS, 0, "bufferize so that no kernel has more buffers, 0: the device's own limit") \
  X(NO_MEMORY_PLANNER, 0, "1: give every buffer its own memory")                                     \
  X(RING, 1, "0: naive allreduce, 2: always ring")                                                   \
  X(RING_ALLREDUCE_THRESHOLD, 256000, "smallest allreduce that uses the ring")                       \
  X(ALL2ALL, 0, "1 or 2: all-to-all allreduce")                                                      \
  X(DEBUG, 0, "1 to 7: print what tinygrad prints at that level")                                    \
  X(DEBUG_RANGEIFY, 0, "1: print the ranges that rangeify assigns")                                  \
  X(DEBUG_LINEARIZE, 0, "1: print the linearizer's priorities")                                      \
  X(REWRITE_STACK_LIMIT, 250000, "fail a rewrite as endless if its stack grows beyond this")

struct Settings {
#define X(name, default_value, help) int64_t name = default_value;
  TGC_SETTINGS(X)
#undef X

  // Fails for a value that set_value() rejects.
  static Result<Settings> read_environment();

  // Fails for an unknown name (with the nearest names), or an invalid value.
  Status set_value(std::string_view name, std::string_view value);
  Status set_value(std::string_view key_value);

  int64_t cpu_count() const;  // CPU_COUNT if set, else the number of processors this process may use
};

struct SettingInfo {
  std::string_view name;
  int64_t Settings::*member;
  int64_t default_value;
  std::string_view help_text;
};
std::span<const SettingInfo> all_settings();

// Returns at most `count` of `names` that are similar to `word`, joined by ", ", nearest first. A name is similar if it
// contains `word` (of 3 bytes or more) or its edit distance is at most max(2, a third of the word's length).
std::string nearest_names_text(std::string_view word, std::span<const std::string_view> names, size_t count = 3);

}  // namespace tgc
