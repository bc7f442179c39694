// Reduces a failing kernel to the smallest kernel that still fails, for `tgc reduce`. Starts where bisect says that the
// failure arises, makes large cuts first, and ends when no single step leads to a smaller failing case.
#pragma once
#include <functional>
#include <string>

#include "lib/reduce/oracle.h"

namespace tgc {

struct ReduceReport {
  size_t before = 0, after = 0;  // nodes
  size_t calls = 0;  // tries: cases that the oracle compiled and ran
  size_t prefiltered = 0;  // cases that the prefilter examined
  double seconds = 0;
  std::string verdict;  // the failure that the reduced case shows
  bool interrupted = false;  // the result is the best case so far
  std::string bundle;  // the reduced case as a repro bundle
  std::string error = {};  // why nothing was reduced

  int exit_code() const { return error.empty() ? 0 : 2; }
  std::string text() const;
  std::string json() const;  // one line
};

// Reduces the kernel `in`, which must fail as `wanted` says when it runs as `options` say.
ReduceReport reduce(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);

// Reduces any graph. For a tensor graph: Kind::Wrong reduces the first kernel that stores something else than REF does
// with the arrays that it gets in a run; other kinds the first kernel that fails so with random arrays.
ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options, const Wanted& wanted);
// The same for the ONNX model of that file.
ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const Wanted& wanted);

}  // namespace tgc
