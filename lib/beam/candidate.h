// Lowers and compiles a candidate of the search, and decides which candidates to run (tinygrad
// codegen/opt/search.py: _try_compile and the filters of beam_search).
#pragma once
#include <functional>
#include <set>

#include "lib/beam/search.h"
#include "lib/runtime/device.h"

namespace tgc {

// Whether a candidate has a time that counts, or the reason why not.
enum class CandidateOutcome : uint8_t {
  Timed,
  Refused,            // a stage, the renderer or the compiler refused it
  TooLarge,           // has BEAM_UOPS_MAX or more UOps
  Duplicate,          // has the same code as an earlier candidate
  TooManyOperations,  // has more than 1000 times the operations of an earlier candidate of the round
  TooSlow,            // stopped, because it took too long to be kept
  Failed,             // was not timed: it cannot be loaded, crashed, or exceeded the time limit
  Wrong,              // computes a wrong result, or fails in the run that checks it
  Unknown,            // not classified yet, only listed (--enumerate), or without a time in the file of --replay-times
};
inline constexpr size_t kNumOutcomes = size_t(CandidateOutcome::Unknown) + 1;
std::string_view name_of(CandidateOutcome outcome);

struct Candidate {
  std::shared_ptr<Graph> graph;  // owned by the candidate; the executable refers to it
  size_t num_uops = 0;           // number of UOps in the linear list
  // arithmetic operations of a launch, without index math (Estimates::ops)
  double num_operations = 0;
  std::string identity;                                // digest of the code; candidates with equal digests are run once
  std::optional<Executable> executable;                // set if a device compiled the candidate
  // fields above may be unset: if Refused or TooLarge, with Identity::None, and num_uops with CandidateSpec::Compile
  CandidateOutcome outcome = CandidateOutcome::Timed;
  std::string failure_reason;                          // the error, if Refused
};

// The way to find duplicate candidates: by a digest of the binary or of the source. None: candidates are not even
// lowered, so there is nothing to compare.
enum class Identity : uint8_t { Binary, Source, None };

struct CandidateSpec {
  // Compiles the candidate for these opts in place of tgc's own pipeline: sets its graph and executable. Throws
  // Failure.
  using Compile = std::function<void(Candidate&, const std::string& opts)>;

  const Target& target;
  Settings settings;
  VariableValues variables;
  int64_t max_uops = 3000;
  Identity identity = Identity::Binary;
  bool runs_threads_in_turn = false;  // true: the threads of a CPU kernel run one after another
  Compile compile_candidate = {};          // empty: tgc's own pipeline
  Device* device = nullptr;  // compiles the candidate; null: it is not compiled, and Identity::Binary acts like Source
};

// Makes the candidate for `ast`, the result of Scheduler::optimized_ast. Thread-safe: only reads the graph of `ast`.
Candidate make_candidate(UOp ast, const CandidateSpec& spec);

// Makes the candidate with these opts by `spec.compile_candidate`, which must be set.
Candidate make_candidate(const OptTexts& opts, const CandidateSpec& spec);

// Filters candidates by comparison with earlier ones. One object serves a whole search.
class CandidateFilter {
 public:
  void begin_round() { least_ops_ = std::numeric_limits<double>::infinity(); }
  // Returns Timed if the candidate shall be run, otherwise the reason to skip it.
  CandidateOutcome classify(const Candidate& candidate);
  // Records a candidate that an interrupted search classified, so that later candidates are compared with it.
  void record_candidate(CandidateOutcome outcome, double ops, const std::string& identity);

 private:
  std::set<std::string> seen_identities_;
  double least_ops_ = std::numeric_limits<double>::infinity();
};

}  // namespace tgc
