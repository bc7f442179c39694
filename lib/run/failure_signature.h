// Failure signatures, each a kind and a cause, by which failures are compared: `tgc reduce` tests whether a smaller
// kernel has the same signature, and repeating a repro bundle tests whether its failure still happens.
#pragma once
#include <string>
#include <string_view>

#include "lib/run/run_options.h"

namespace tgc {

// X(enumerator, name, meaning)
#define TGC_SYMPTOMS(X)                                                     \
  X(None, "none", "the kernel passes")                                      \
  X(Wrong, "wrong", "another result than expected")                         \
  X(Crash, "crash", "the kernel dies, or runs out of time")                 \
  X(Differs, "differs", "another text at a stage than tinygrad's")          \
  X(Endless, "endless", "a rewrite that does not end")                      \
  X(Refused, "refused", "a stage or the renderer refuses the graph")        \
  X(Compile, "compile", "the compiler refuses the source")                  \
  X(Script, "cmd", "a command reports it")

struct FailureSignature {
  enum class Kind : uint8_t {
#define X(id, ...) id,
    TGC_SYMPTOMS(X)
#undef X
  };
  Kind kind = Kind::None;
  std::string said = {};   // the message in one line, for people
  std::string cause = {};  // the message without numbers, names and sizes: equal for failures of the same cause
  bool operator==(const FailureSignature& o) const { return kind == o.kind && cause == o.cause; }
};
std::string_view name_of(FailureSignature::Kind kind);

// Returns whether `refused`, the error of a stage, says that the stage's rewriting does not end.
bool is_endless(const Diag& refused);

// Returns the failure that shows before a compiler or a kernel runs: a stage does not end, or a stage, a renderer or
// REF refuses the graph. Kind::None if there is no such failure. An error: `device` does not exist.
Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const std::string& device);

// Compiles the kernel, runs it with `options` (as with_bundle() returns them), and compares what it stores with the
// expected arrays of the options or bundle, else with what REF computes from the input graph. `arrays` receives the
// inputs if they were made. An error: the failure cannot be determined, because arrays, variables or a device are
// missing, or no kernel runs on the device (probe_device).
Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& options,
                                    Arrays* arrays = nullptr);

}  // namespace tgc
