// A candidate of the search made ready: lowered, and compiled where there is a device for it; and which candidates are
// worth a run (tinygrad codegen/opt/search.py: _try_compile and what beam_search leaves out).
#pragma once
#include <set>

#include "lib/beam/search.h"
#include "lib/runtime/device.h"

namespace tgc {

// Why a candidate was not timed, or that it was.
enum class Fate : uint8_t {
  Timed,
  Refused,    // a stage, a renderer or the compiler
  TooLarge,   // BEAM_UOPS_MAX
  Seen,       // the same code as a candidate before it
  TooMuch,    // 1000 times the operations of the least
  TooSlow,    // it was stopped when it could not be kept any more
  Failed,     // it crashed, or ran for too long
  Wrong,      // it computes something else
  Unknown,    // a file of times does not have it
};
inline constexpr size_t kNumFates = size_t(Fate::Unknown) + 1;
std::string_view name_of(Fate fate);

struct Candidate {
  std::shared_ptr<Graph> graph;            // of its own; the executable needs it
  size_t uops = 0;                         // of its linear list
  double ops = 0;                          // floating-point operations
  std::string identity;                    // a digest of its code: of two with the same one is run
  std::optional<Executable> executable;    // where it was compiled
  Fate fate = Fate::Timed;        // Refused or TooLarge: the rest is missing
  std::string why;                         // of Refused
};

// What two candidates are compared by.
enum class Identity : uint8_t { Binary, Source, None };

struct CandidateSpec {
  const Target& target;
  Settings settings;
  VariableValues variables;
  int64_t uops_max = 3000;
  Identity identity = Identity::Binary;
  Device* device = nullptr;  // compiles; null: nothing is compiled, and Binary is Source
};

// `ast` is a candidate's optimized_ast; its graph is only read, so that several threads may call this.
Candidate make_candidate(UOp ast, const CandidateSpec& spec);

// The filters that look at the candidates before. One lives for a whole search.
class Filter {
 public:
  void begin_round() { least_ops_ = std::numeric_limits<double>::infinity(); }
  // Timed: it is to be run.
  Fate classify(const Candidate& candidate);
  // Takes note of one that was judged before, with this outcome.
  void remember(Fate fate, double ops, const std::string& identity);

 private:
  std::set<std::string> seen_;
  double least_ops_ = std::numeric_limits<double>::infinity();
};

}  // namespace tgc
