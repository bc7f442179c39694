// Symptoms: what goes wrong with a kernel, told so that two failures can be held against each other: is what a smaller
// graph does the same failure, does it still happen?
#pragma once
#include <string>
#include <string_view>

#include "lib/run/run_kernel.h"

namespace tgc {

// X(enumerator, name, what it is)
#define TGC_SYMPTOMS(X)                                                     \
  X(None, "none", "all is well")                                            \
  X(Wrong, "wrong", "another result than expected")                         \
  X(Crash, "crash", "the kernel dies, or runs out of time")                 \
  X(Differs, "differs", "another text at a stage than tinygrad's")          \
  X(Endless, "endless", "a rewrite that does not end")                      \
  X(Refused, "refused", "a stage or the renderer refuses the graph")        \
  X(Compile, "compile", "the compiler refuses the source")                  \
  X(Script, "cmd", "a command says so")

struct FailureSignature {
  enum class Kind : uint8_t {
#define X(id, ...) id,
    TGC_SYMPTOMS(X)
#undef X
  };
  Kind kind = Kind::None;
  std::string said = {};   // in a line, for people
  // What two of the same cause share: of a message its words without numbers, names and sizes.
  std::string cause = {};
  bool operator==(const FailureSignature& o) const { return kind == o.kind && cause == o.cause; }
};
std::string_view name_of(FailureSignature::Kind kind);

// Whether a stage was refused because a rewrite in it does not end.
bool is_endless(const Diag& refused);

// What shows before a compiler is asked or anything runs: that a stage does not end, or refuses the graph, or the
// renderer or REF does; else that all is well so far. An error: there is no such place.
Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const RunOptions& spec);

// The kernel compiled, run where `spec` says and compared with what is expected: arrays that are given, else what REF
// makes of the graph as it stands. `spec` has been through with_bundle(); `arrays` gets the inputs, if any were made.
// An error: nothing can be told, for lack of arrays, variables, a device, or of any kernel that runs (place_works.h).
Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& spec, Arrays* arrays = nullptr);

}  // namespace tgc
