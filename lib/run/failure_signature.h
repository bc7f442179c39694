// Failure signatures: what goes wrong with a kernel, in a form in which two failures can be compared. Reduction asks
// whether a smaller kernel fails the same way, a bundle whether its failure still happens.
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
  std::string said = {};   // one line for people
  std::string cause = {};  // the message without numbers, names and sizes: equal for failures of the same cause
  bool operator==(const FailureSignature& o) const { return kind == o.kind && cause == o.cause; }
};
std::string_view name_of(FailureSignature::Kind kind);

// Returns whether a stage was refused because one of its rewrites does not end.
bool is_endless(const Diag& refused);

// Returns the failures that show before a compiler is called or a kernel runs: a stage that does not end or refuses the
// graph, a renderer or REF that refuses it. Kind::None if there is no such failure. An error: there is no such device.
Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const std::string& device);

// Compiles the kernel, runs it as `options` (of with_bundle()) say and compares what it stores with the arrays that are
// given, else with what REF makes of the graph as it stands. `arrays` receives the inputs, if the run came that far.
// An error: the failure cannot be told, because arrays, variables or a device are missing, or no kernel runs there
// (probe_device).
Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& options,
                                    Arrays* arrays = nullptr);

}  // namespace tgc
