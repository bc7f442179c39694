// Prover proves that two isolated expressions are equal for all values of their leaves.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/prove/encode.h"
#include "lib/prove/known_verdicts.h"
#include "lib/prove/normal_forms.h"
#include "lib/support/z3.h"
#include "lib/validate/side_expressions.h"

namespace tgc {

enum class SmtAnswer : uint8_t { Unsat, Sat, Unknown };

// Z3's answers, by the texts of the questions, and known verdicts. Several threads may use one cache.
class ProofCache {
 public:
  std::optional<SmtAnswer> find_answer(const std::string& text);
  void add_answer(const std::string& text, SmtAnswer answer);
  // Makes the cache read earlier answers and verdicts from the compile cache.
  void make_persistent() { is_persistent_ = true; }
  void write_answers();
  KnownVerdicts* verdicts() { return is_persistent_ ? &known_verdicts_ : nullptr; }  // null before make_persistent()

 private:
  void read_answers();

  bool is_persistent_ = false;
  KnownVerdicts known_verdicts_;
  std::once_flag read_once_flag_;
  std::mutex mutex_;
  std::unordered_map<std::string, SmtAnswer> known_answers_;
  size_t num_cached_entries_ = 0;
  static constexpr size_t kCacheEntryBytes = 33;
};

struct ProofObligation {
  std::string text = {};         // in SMT-LIB; if it is unsatisfiable, the sides are equal
  std::string assumptions = {};  // for FloatSense::Finite: the text without the goal, which must be satisfiable
  bool is_trivial = false;       // both sides have the same text, so they are equal
};

// Returns the obligation for one lane of `v`. `floats` is the encoder's sense of floats. Throws UnencodableExpr if the
// sides cannot be encoded.
ProofObligation obligation_of_lane(SmtEncoder& encoder, const ComparedValues& v, int lane, FloatSense floats);

struct ProofOutcome {
  enum class Kind : uint8_t { Proven, Open };
  Kind kind = Kind::Open;
  FloatSense sense = FloatSense::Uninterpreted;  // if Proven: the weakest sense that the proof uses
  bool has_floats = false;
  bool is_settled = false;       // if Open: another IntSense cannot prove the pair either
  std::string open_reason = {};
  // a SHA-256 of obligations, which is equal for pairs that are equal up to renaming; "" if there was none
  std::string question_hash = {};
};

// The limits of a proof. An rlimit limits the work of one question, in Z3's unit: 1 million units take about 0.3 s.
struct ProofLimits {
  uint64_t bits_rlimit = 600'000;
  uint64_t numbers_rlimit = 600'000;
  uint64_t ieee_rlimit = 600'000;
  uint64_t brief_rlimit = 100'000;    // for a first attempt in a context of its own, and for long texts about numbers
  // processor time for one question: Z3 does not count the work on very large numbers
  double question_seconds = 5;
  double brief_seconds = 2;           // processor time for one question in the shared context
  size_t max_small_text_bytes = 450;  // most bytes of a text about floats that is asked with all resources at once
  // a text about numbers of more bytes is asked with few resources: Z3 decides it at once or never
  size_t min_long_text_bytes = 8000;
  uint64_t shared_rlimit = 60'000;
  size_t max_nodes = 400;           // about how many nodes of both sides are encoded; others are unknown values
  // If more nodes are encoded, and floats, the IEEE senses are tried near the roots right after the first attempt.
  size_t many_nodes_limit = 100;
  // most nodes contained in both sides that are encoded instead of being unknown values
  size_t max_expanded_nodes = 60;
};

struct ProofCounts {
  size_t num_questions = 0;
  size_t num_hard_questions = 0;
  size_t num_cached_answers = 0;
  size_t num_trivial = 0;
  double z3_seconds = 0;
};

// Proves pairs of expressions of one ExprIsolator. A prover may be used by one thread only.
class Prover {
 public:
  Prover(const ExprIsolator& isolator, ProofCache& cache, ProofLimits limits = {})
      : intervals_(isolator), proof_cache_(cache), proof_limits_(limits) {}

  // Tries to prove all lanes equal. With `over_reals`, does not try the IEEE senses, except for the terms of REDUCEs.
  ProofOutcome prove_values(const ComparedValues& values, bool over_reals = false);
  const ProofCounts& proof_counts() const { return proof_counts_; }
  // Must be called if memory to which the kernel stores may contain infinities.
  void allow_infinities() { intervals_.allow_infinities(); }

 private:
  struct NodeFrontier;
  ProofOutcome prove_lane(const ComparedValues& v, int lane, const NodeFrontier& near, const NodeFrontier& far,
                          bool over_reals);
  // In which context Z3 is asked: the thread's shared context, which has few resources, or a new one, which is slow.
  enum class Effort : uint8_t {
    Light,  // in the shared context
    Usual,  // in the shared context, then in a new one
    Brief,  // in a new context; with few resources if the text is long
    Hard,   // in a new context, with all resources
  };
  // Asks Z3 in one pair of senses. With `is_first`, spends less effort, because the caller asks again in other senses.
  ProofOutcome ask_z3(const ComparedValues& v, int lane, const NodeFrontier& cuts, ProofSenses senses, bool is_first);
  NodeFrontier make_frontier(const ComparedValues& v, int lane, size_t more, size_t most_depth = SIZE_MAX) const;
  SmtAnswer z3_answer(const std::string& text, Effort effort, IntSense ints, uint64_t rlimit);
  void match_reductions(NodeFrontier& cuts);
  bool is_satisfiable(const std::string& assumptions);

  IntervalAnalysis intervals_;
  NormalForms normal_forms_{intervals_};
  ProofCache& proof_cache_;
  ProofLimits proof_limits_;
  ProofCounts proof_counts_;
  // By node id of a reduction: an equal reduction of the other side (or null), and the sense in which it is equal.
  std::map<uint32_t, std::pair<UOp, FloatSense>> equal_reductions_;
  int nesting_depth_ = 0;
};

}  // namespace tgc
