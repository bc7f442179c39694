// A failure signature is a kind and a cause. Two failures are the same if their signatures are equal.
#pragma once
#include <string>
#include <string_view>

#include "lib/run/run_options.h"

namespace tgc {

// X(enumerator, name in options and files, meaning)
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
  std::string message = {};
  // The message's first line, or the beginning of it, without numbers and bracketed text: equal for failures of one
  // cause. Empty for Kind::Wrong and Kind::None.
  std::string cause_key = {};
  bool operator==(const FailureSignature& o) const { return kind == o.kind && cause_key == o.cause_key; }
};
std::string_view name_of(FailureSignature::Kind kind);

// Returns whether the error of a stage says that its rewriting does not terminate.
bool is_endless(const Diag& refused);

// Returns the failure that occurs before anything is compiled or run: rewriting does not terminate, or a stage,
// renderer or REF refuses the graph. Fails, for example, if there is no place to run, or no time left.
Result<FailureSignature> refusal_signature_of(const Session& session, InputGraph& in, const std::string& device);

// Compiles and runs the kernel with `options` (those of options_with_bundle()), compares its results, and returns the
// failure. `arrays` receives the inputs if the kernel compiled. Fails if the run itself cannot be made or judged.
Result<FailureSignature> failure_signature_of(const Session& session, InputGraph& in, const RunOptions& options,
                                              Arrays* arrays = nullptr);

}  // namespace tgc
