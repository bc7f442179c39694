// Failure signatures, each a kind and a cause. Two failures are the same if their signatures are equal: by this,
// `tgc reduce` decides whether a smaller kernel fails in the same way. `tgc run` of a repro bundle compares only kinds.
#pragma once
#include <string>
#include <string_view>

#include "lib/run/run_options.h"

namespace tgc {

// The kinds of failure: X(enumerator, name in options and files, meaning).
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
  std::string message = {};  // the failure's message, on one line
  // The part of the message that is equal for failures of one cause: its first line without numbers and bracketed text,
  // of which only the beginning counts for a crash and for an access out of bounds. Empty for Kind::Wrong and
  // Kind::None.
  std::string cause_key = {};
  bool operator==(const FailureSignature& o) const { return kind == o.kind && cause_key == o.cause_key; }
};
std::string_view name_of(FailureSignature::Kind kind);

// Returns whether `refused`, the error of a stage, says that the rewriting of the stage does not terminate.
bool is_endless(const Diag& refused);

// Returns the failure that occurs before anything is compiled or run: the rewriting of a stage does not terminate, or a
// stage, renderer or REF refuses the graph. Kind::None if there is no such failure. Fails if there is no place to run
// for `device`, if the time limit is over, or if the graph cannot be copied to be compiled.
Result<FailureSignature> refusal_of(const Session& session, InputGraph& in, const std::string& device);

// Compiles the kernel, unless it is refused (refusal_of), runs it with `options` (as with_bundle() returns them), and
// compares its results with the expected arrays of the options or bundle; if there are none, with REF's results, except
// for a linear list that runs in REF itself. Returns the failure. `arrays` receives the inputs if the kernel compiled.
// Fails if the run itself cannot be made or judged, for example because a file or variable is missing, REF cannot
// compute the expected results, or the device cannot run any kernel (probe_device).
Result<FailureSignature> symptom_of(const Session& session, InputGraph& in, const RunOptions& options,
                                    Arrays* arrays = nullptr);

}  // namespace tgc
