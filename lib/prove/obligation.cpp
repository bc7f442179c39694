#include "lib/prove/obligation.h"

#include <algorithm>
#include <queue>

#include "lib/compile/cache.h"
#include "lib/prove/proof_time.h"
#include "lib/support/deadline.h"
#include "lib/support/log.h"
#include "lib/support/sha256.h"
#include "lib/uop/graph.h"

namespace tgc {
std::optional<SmtAnswer> ProofCache::find_answer(const std::string& text) {
  if (is_persistent_) std::call_once(read_once_flag_, [this] { read_answers(); });
  std::lock_guard lock(mutex_);
  auto it = known_answers_.find(hash_of_text(text));
  return it == known_answers_.end() ? std::nullopt : std::optional(it->second);
}

void ProofCache::add_answer(const std::string& text, SmtAnswer answer) {
  std::lock_guard lock(mutex_);
  known_answers_.emplace(hash_of_text(text), answer);
}

namespace {

// A part of the cache key. Increase it if a text gets another meaning.
constexpr const char* kEncodingVersion = "4";

Sha256 key_of_answers() { return make_cache_key({"proofs", kEncodingVersion, z3_version()}); }

}  // namespace

// The entry has the key and one byte for each answer.
void ProofCache::read_answers() {
  auto bytes = CompileCache::shared_cache().load_entry(key_of_answers());
  if (!bytes || bytes->size() % kCacheEntryBytes) return;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < bytes->size(); i += kCacheEntryBytes)
    if (uint8_t answer = uint8_t((*bytes)[i + kCacheEntryBytes - 1]); answer <= uint8_t(SmtAnswer::Unknown))
      known_answers_.emplace(bytes->substr(i, kCacheEntryBytes - 1), SmtAnswer(answer));
  num_cached_entries_ = known_answers_.size();
}

void ProofCache::write_answers() {
  known_verdicts_.write_verdicts();
  std::lock_guard lock(mutex_);
  if (known_answers_.size() == num_cached_entries_) return;
  std::string bytes;
  for (auto& [key, answer] : known_answers_) bytes += key, bytes += char(answer);
  CompileCache::shared_cache().store_entry(key_of_answers(), bytes);
}

// The nodes at which the encoding of both sides stops: they become unknown values. The near frontier stops at each node
// that both sides contain; the far frontier expands the first of these.
struct Prover::NodeFrontier {
  std::vector<UOp> cuts;
  std::vector<std::pair<UOp, UOp>> aliases;  // pairs of a reduction of `after` and an equal one of `before`
  std::vector<UOp> before_reductions, after_reductions;
  FloatSense sense = FloatSense::Uninterpreted;  // the weakest sense in which the aliases are equal
  bool has_no_cuts = true;
  size_t num_nodes = 0;
};

// Returns the frontier of one lane. Cuts at the nodes that both sides contain, but expands the first `more` of these.
// Also cuts at nodes deeper than `most_depth` below the sides, and at all nodes after about proof_limits_.max_nodes.
Prover::NodeFrontier Prover::make_frontier(const ComparedValues& v, int lane, size_t more, size_t most_depth) const {
  // Visits nodes from the highest id down, so that a node comes after all its users.
  struct Item {
    UOp node;
    int lane;
    uint8_t sides;
    size_t depth;
  };
  std::map<uint64_t, Item, std::greater<>> worklist;
  size_t depth = 0;
  auto push = [&](UOp u, int at, uint8_t sides) {
    if (!u) return;
    if (u.dtype().count() <= 1) at = 0;
    auto [it, is_new] = worklist.try_emplace(uint64_t(u.id()) << 12 | uint64_t(at), Item{u, at, 0, depth});
    it->second.sides |= sides, it->second.depth = std::min(it->second.depth, depth);
  };
  push(v.before, lane, 1), push(v.before_valid, lane, 1), push(v.after, lane, 2), push(v.after_valid, lane, 2);
  NodeFrontier out;
  size_t expanded = 0, visited = 0;
  while (!worklist.empty()) {
    auto [u, at, sides, own_depth] = worklist.begin()->second;
    worklist.erase(worklist.begin());
    if (u.in({Op::CONST, Op::VCONST, Op::DEFINE_GLOBAL, Op::RANGE})) continue;
    if (u.is(Op::LOAD) && intervals_.leaf_of_load(u)) continue;
    if (u.is(Op::CAST) && u.src(0).is(Op::LOAD) && intervals_.leaf_of_load(u.src(0))) continue;
    const bool is_shared = sides == 3;
    depth = own_depth + 1;
    if ((is_shared && expanded >= more) || visited > proof_limits_.max_nodes || own_depth > most_depth) {
      out.cuts.push_back(u), out.has_no_cuts = false;
      continue;
    }
    out.num_nodes = ++visited;
    if (is_shared) expanded++;
    if (u.is(Op::REDUCE)) {
      if (sides != 2) out.before_reductions.push_back(u);
      if (sides != 1) out.after_reductions.push_back(u);
    } else if (auto moved = lane_source(u, at)) {
      push(moved->first, moved->second, sides);
    } else {
      for (UOp s : u.src()) push(s, at, sides);
    }
  }
  return out;
}

// Adds to cuts.aliases reductions of `after`, each with a reduction of `before` that has the same op over the same
// ranges, and whose terms are proven equal.
void Prover::match_reductions(NodeFrontier& cuts) {
  for (UOp a : cuts.after_reductions) {
    if (std::ranges::find(cuts.before_reductions, a) != cuts.before_reductions.end()) continue;
    auto known = equal_reductions_.find(a.id());
    if (known == equal_reductions_.end()) {
      std::pair<UOp, FloatSense> found{{}, FloatSense::Uninterpreted};
      for (UOp b : cuts.before_reductions) {
        if (!(b.arg() == a.arg()) || b.dtype() != a.dtype() || b.num_src() != a.num_src() || nesting_depth_ > 3)
          continue;
        if (!std::ranges::is_permutation(b.src().subspan(1), a.src().subspan(1))) continue;
        nesting_depth_++;
        ProofOutcome same = prove_values({b.src(0), a.src(0)});
        nesting_depth_--;
        if (same.kind != ProofOutcome::Kind::Proven) continue;
        found = {b, same.sense};
        const bool is_reordered = !std::ranges::equal(b.src().subspan(1), a.src().subspan(1));
        if (is_reordered && dtypes::is_float(a.dtype()))
          found.second = std::max(same.sense, a.arg().op() == Op::MAX ? FloatSense::ButNan : FloatSense::Real);
        break;
      }
      known = equal_reductions_.emplace(a.id(), found).first;
    }
    if (!known->second.first) continue;
    cuts.aliases.emplace_back(a, known->second.first);
    cuts.sense = std::max(cuts.sense, known->second.second);
  }
}

// Returns the answer in the cache, or asks Z3 in the contexts that `effort` names. The shared context has few
// resources, but is fast: creating a context takes longer than most questions. In a new context, the answer does not
// depend on earlier questions. There, an older solver is asked first about numbers, because it respects its resource
// limit. The newer one proves more, but may compute with ever larger numbers, which Z3 does not count.
SmtAnswer Prover::z3_answer(const std::string& text, Effort effort, IntSense ints, uint64_t rlimit) {
  const std::string key = (effort == Effort::Light ? "light " : effort == Effort::Brief ? "brief " : "") + text;
  const std::string limited_key = std::to_string(rlimit) + " " + key;  // the key of Unknown, which depends on rlimit
  for (const std::string* k : {&key, &limited_key})
    if (auto known = proof_cache_.find_answer(*k)) return proof_counts_.num_cached_answers++, *known;
  if (is_time_over()) return SmtAnswer::Unknown;
  auto begin = Clock::now();
  proof_counts_.num_questions++;
  struct SharedSession {
    std::unique_ptr<Z3Session> session;
    size_t num_questions = 0;
  };
  thread_local SharedSession shared;
  if (!shared.session || ++shared.num_questions % 1000 == 0) shared.session = std::make_unique<Z3Session>();
  auto ask = [&](Z3Session& session, const std::string& question, double most_seconds) {
    const std::string said = session.ask_z3(question, most_seconds, StopScope::current_check());
    if (session.is_over()) {
      if (&session == shared.session.get()) shared.session.reset();
      return SmtAnswer::Unknown;
    }
    if (said.find("out of memory") != said.npos || said.find("max. memory") != said.npos) {
      shared.session.reset();
      return SmtAnswer::Unknown;
    }
    if (said.find("(error") != said.npos) {
      shared.session.reset();
      throw Failure("Z3 does not accept an obligation: " + said + "\n" + text);
    }
    return said.starts_with("unsat") ? SmtAnswer::Unsat : said.starts_with("sat") ? SmtAnswer::Sat : SmtAnswer::Unknown;
  };
  SmtAnswer out = SmtAnswer::Unknown;
  if (effort <= Effort::Usual) {
    out = ask(*shared.session,
              "(set-option :rlimit " + std::to_string(proof_limits_.shared_rlimit) + ")(push)" + text + "(check-sat)\n",
              proof_limits_.brief_seconds);
    if (shared.session) (void)shared.session->ask_z3("(pop)");
  }
  if (out == SmtAnswer::Unknown && effort != Effort::Light) {
    proof_counts_.num_hard_questions++;
    Z3Session session;
    const bool is_brief = effort == Effort::Brief && text.size() > proof_limits_.max_small_text_bytes;
    const double wall_seconds = std::min(current_deadline().seconds_left(), 1e6);
    const std::string timeout = "(set-option :timeout " + std::to_string(int(wall_seconds * 1000) + 1) + ")\n";
    auto limited = [&](uint64_t limit) { return "(set-option :rlimit " + std::to_string(limit) + ")" + timeout; };
    std::string question = text;
    if (ints == IntSense::Numbers) {
      constexpr uint64_t kOlderSolver = 300'000;
      question = limited(std::min(rlimit, kOlderSolver)) + text;
      out = ask(session, question + "(check-sat-using (using-params smt :arith.solver 2))\n",
                proof_limits_.question_seconds);
      question.clear();
    }
    if (out == SmtAnswer::Unknown && !session.is_over()) {
      const std::string options = limited(is_brief ? proof_limits_.brief_rlimit : rlimit);
      out = ask(session, options + question + "(check-sat)\n", proof_limits_.question_seconds);
    }
    // restore the option that `text` sets, because it is global
    if (text.starts_with("(set-option")) (void)session.ask_z3("(set-option :rewriter.flat true)");
  }
  const double seconds = seconds_since(begin);
  proof_counts_.z3_seconds += seconds;
  if (seconds > 1)
    log_debug(LogTopic::Prove, [&] {
      return std::to_string(seconds) + " s for a question of " + std::to_string(text.size()) + " bytes, effort " +
             std::to_string(int(effort)) + ", answer " + std::to_string(int(out));
    });
  if (out == SmtAnswer::Unknown && is_time_over()) return out;  // do not cache it: another run may have more time
  proof_cache_.add_answer(out == SmtAnswer::Unknown ? limited_key : key, out);
  return out;
}

static bool is_threefry(const ComparedValues& v) {
  return v.before.is(Op::THREEFRY) && v.before.dtype() == dtypes::uint64;
}

ProofObligation obligation_of_lane(SmtEncoder& encoder, const ComparedValues& v, int lane, FloatSense floats) {
  auto lane_of = [&](UOp u) { return u.dtype().count() > 1 ? lane : 0; };
  SmtValue a = encoder.value(v.before, lane_of(v.before)), b, a_valid, b_valid;
  if (v.before_valid) a_valid = encoder.value(v.before_valid, lane_of(v.before_valid));
  const size_t assumed = encoder.assumptions().size();
  b = encoder.value(v.after, lane_of(v.after));
  if (v.after_valid) b_valid = encoder.value(v.after_valid, lane_of(v.after_valid));
  std::string before_valid = v.before_valid ? a_valid.term : "true",
              after_valid = v.after_valid ? b_valid.term : "true", goal;
  if (a.term == b.term && before_valid == after_valid && a.definedness == b.definedness) return {.is_trivial = true};
  std::string text = encoder.take_smt_text();
  // assume that the left side is defined: elsewhere, the right side may have any value
  for (const std::string& d : {a.definedness, a_valid.definedness})
    if (!d.empty()) text += "(assert " + d + ")\n";
  for (const std::string& assumption : std::span(encoder.assumptions()).first(assumed))
    text += "(assert " + assumption + ")\n";
  ProofObligation out{.assumptions = floats == FloatSense::Finite ? text : ""};
  std::string differ =
      "(not " + encoder.equality_formula(a, v.before.dtype().scalar(), b, v.after.dtype().scalar()) + ")";
  if (!b.definedness.empty()) differ = "(or " + differ + " (not " + b.definedness + "))";
  const bool is_index = v.before.dtype().is(Scalar::Index);  // an Invalid index is a value: nothing is accessed
  if (v.before_valid || v.after_valid) {
    goal = "(and " + before_valid + " (or (not " + after_valid + ") " + differ + "))";
    if (is_index) goal = "(or " + goal + " (and (not " + before_valid + ") " + after_valid + "))";
  } else {
    goal = differ;
  }
  out.text = text + "(assert " + goal + ")\n";
  return out;
}

// Returns true if `before` is a transcendental op such as SIN, which is an unknown function for Z3, and `after`
// computes it without this op.
static bool is_approximation(const ComparedValues& v) {
  constexpr OpSet kTranscendental{Op::EXP2, Op::LOG2, Op::SIN, Op::POW};
  if (!v.before.in(kTranscendental) || v.before_valid) return false;
  return std::ranges::none_of(toposort(v.after), [&](UOp u) { return u.is(v.before.op()); });
}

// Returns true if Z3 finds values for which the assumptions of a proof hold: else, the proof may be vacuous.
bool Prover::is_satisfiable(const std::string& assumptions) {
  return z3_answer(assumptions, Effort::Hard, IntSense::Bits, proof_limits_.ieee_rlimit) == SmtAnswer::Sat;
}

ProofOutcome Prover::ask_z3(const ComparedValues& v, int lane, const NodeFrontier& cuts, ProofSenses senses,
                            bool is_first) {
  using Kind = ProofOutcome::Kind;
  SmtEncoder encoder(intervals_, senses);
  for (UOp u : cuts.cuts) encoder.cut_at_node(u);
  for (auto& [from, to] : cuts.aliases) encoder.set_node_alias(from, to);
  ProofOutcome out;
  out.sense = std::max(cuts.sense, senses.float_sense);
  ProofObligation obligation;
  try {
    obligation = obligation_of_lane(encoder, v, lane, senses.float_sense);
  } catch (const UnencodableExpr& e) {
    constexpr int kWideIndex = 144;
    if (e.is_index_too_narrow && senses.index_width_bits < kWideIndex) {
      senses.index_width_bits = kWideIndex;
      return ask_z3(v, lane, cuts, senses, is_first);
    }
    out.open_reason = e.reason;
    return out;
  }
  out.has_floats = encoder.has_floats();
  if (obligation.is_trivial) {
    proof_counts_.num_trivial++;
    out.kind = Kind::Proven;
    return out;
  }
  out.question_hash = hash_of_text(obligation.text);
  if (is_approximation(v)) {
    out.open_reason = "an approximation of " + std::string(name_of(v.before.op()));
    return out;
  }
  // keep Z3 from flattening sums of sums, so that the sums of a cipher's rounds stay the same on both sides
  if (is_threefry(v)) obligation.text = "(set-option :rewriter.flat false)\n" + obligation.text;
  const bool is_hard = senses.int_sense == IntSense::Bits || senses.float_sense > FloatSense::Uninterpreted;
  // spend little on the first question about numbers if bit-vectors may decide sums that wrap around
  const Effort effort = is_hard && is_first && senses.float_sense > FloatSense::Uninterpreted ? Effort::Brief
                        : is_hard                                                       ? Effort::Hard
                        : is_first && encoder.has_bit_ops()                             ? Effort::Light
                                                                                        : Effort::Usual;
  const bool is_ieee = out.has_floats && tgc::is_ieee(senses.float_sense);
  const bool is_long = obligation.text.size() > proof_limits_.min_long_text_bytes;
  const uint64_t rlimit = is_ieee                            ? proof_limits_.ieee_rlimit
                          : senses.int_sense != IntSense::Numbers ? proof_limits_.bits_rlimit
                          : is_long                          ? proof_limits_.brief_rlimit
                                                             : proof_limits_.numbers_rlimit;
  switch (z3_answer(obligation.text, effort, senses.int_sense, rlimit)) {
    case SmtAnswer::Unsat:
      out.kind = Kind::Proven;
      if (obligation.assumptions.empty() || is_satisfiable(obligation.assumptions)) break;
      out.kind = Kind::Open, out.open_reason = "the left side may always be infinite or NaN";
      break;
    case SmtAnswer::Unknown: out.open_reason = "Z3 reached its resource limit"; break;
    case SmtAnswer::Sat:
      out.is_settled = !encoder.has_bit_ops();
      out.open_reason = cuts.has_no_cuts && !encoder.has_unknown()
                    ? "Z3 found values for which the sides differ"
                    : "the solver does not know what some of the parts compute, "
                      "and the rest does not prove the sides equal";
      break;
  }
  return out;
}

ProofOutcome Prover::prove_lane(const ComparedValues& v, int lane, const NodeFrontier& near, const NodeFrontier& far,
                                bool over_reals) {
  using Kind = ProofOutcome::Kind;
  ProofOutcome out;
  bool has_floats = false, are_settled = true;
  std::string question_hash;
  std::vector<const NodeFrontier*> frontiers{&near};
  if (near.cuts != far.cuts) frontiers.push_back(&far);
  auto attempt = [&](const NodeFrontier& cuts, FloatSense floats, IntSense ints, bool is_first) {
    ProofOutcome got = ask_z3(v, lane, cuts, {floats, ints}, is_first);
    has_floats |= got.has_floats, are_settled &= got.is_settled;
    if (question_hash.empty()) question_hash = got.question_hash;
    bool is_better = got.kind == Kind::Proven || out.open_reason.empty();
    if (is_better) out = got;
    out.question_hash = question_hash;
    return got.kind == Kind::Proven;
  };
  auto attempt_all = [&](FloatSense floats, IntSense ints, bool is_first = false) {
    return std::ranges::any_of(frontiers,
                               [&](const NodeFrontier* cuts) { return attempt(*cuts, floats, ints, is_first); });
  };
  // Finite is only for floats: an integer or a bool that differs for a NaN or an infinity is wrong, as in `x != x`
  auto attempt_ieee = [&](auto&& try_sense) {
    return try_sense(FloatSense::Exact) || try_sense(FloatSense::ButNan) ||
           (dtypes::is_float(v.before.dtype()) && try_sense(FloatSense::Finite));
  };
  constexpr size_t kNear = 2;
  // IEEE arithmetic takes much time, and a rule's operands are near the root
  auto attempt_near_root = [&] {
    const NodeFrontier shallow = make_frontier(v, lane, 0, kNear);
    return attempt_ieee([&](FloatSense sense) { return attempt(shallow, sense, IntSense::Bits, true); });
  };
  if (!is_threefry(v) && attempt_all(FloatSense::Uninterpreted, IntSense::Numbers, true)) return out;
  if (is_approximation(v)) return out;
  const bool is_large = near.num_nodes > proof_limits_.many_nodes_limit && has_floats && !over_reals;
  if (is_large && attempt_near_root()) return out;
  if (!are_settled || is_threefry(v)) {
    if (attempt_all(FloatSense::Uninterpreted, IntSense::Bits)) return out;
    if (!is_threefry(v) && attempt_all(FloatSense::Uninterpreted, IntSense::Numbers)) return out;
  }
  if (!has_floats) return out;
  if (!over_reals && !is_large && attempt_near_root()) return out;
  if (!over_reals && dtypes::is_float(v.before.dtype()) &&
      attempt(make_frontier(v, lane, 0, kNear), FloatSense::Real, IntSense::Numbers, true))
    return out;
  // only floats can be proven over the reals, because rounding may change comparisons and integers
  if (dtypes::is_float(v.before.dtype()) && attempt_all(FloatSense::Real, IntSense::Numbers)) return out;
  if (!over_reals) attempt_ieee([&](FloatSense sense) { return attempt_all(sense, IntSense::Bits); });
  return out;
}

ProofOutcome Prover::prove_values(const ComparedValues& v, bool over_reals) {
  ProofOutcome out{.kind = ProofOutcome::Kind::Proven};
  if (v.is_bounds_comparison) return {.open_reason = "the size of a loop depends on other loops"};
  for (int lane = 0; lane < v.before.dtype().count(); lane++) {
    if (normal_forms_.are_equal(v, lane)) {
      proof_counts_.num_trivial++, out.has_floats |= dtypes::is_float(v.before.dtype());
      continue;
    }
    NodeFrontier near = make_frontier(v, lane, 0), far = make_frontier(v, lane, proof_limits_.max_expanded_nodes);
    match_reductions(near), match_reductions(far);
    ProofOutcome one = prove_lane(v, lane, near, far, over_reals);
    out.question_hash =
        out.question_hash.empty() ? one.question_hash : hash_of_text(out.question_hash + one.question_hash);
    if (one.kind != ProofOutcome::Kind::Proven) return one.question_hash = out.question_hash, one;
    out.sense = std::max(out.sense, one.sense);
    out.has_floats |= one.has_floats;
  }
  return out;
}

}  // namespace tgc
