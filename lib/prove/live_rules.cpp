#include "lib/prove/live_rules.h"

#include <algorithm>

#include "lib/compilation/pipeline.h"
#include "lib/import/import_sides.h"
#include "lib/prove/node_values.h"
#include "lib/prove/right_sides.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/json_writer.h"
#include "lib/text/graph_json.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string text_of(UOp u) {
  constexpr size_t kMost = 400;
  std::string out = render(u);
  return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
}

// Returns whether the node takes the bits of an integer for a float. REF does not keep the payload of a NaN.
bool has_float_bits(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::BITCAST) && dtypes::is_float(u.dtype()); });
}

constexpr std::string_view kFunction = "function:";  // the word of a recording that names a rule's function

constexpr const char* kVerdicts[] = {"proven",  "instances", "conditional", "sampled",
                                     "refuted", "unknown",   "structural",  "no instance"};

class LiveRulesProver {
 public:
  LiveRulesProver(const Settings& settings, std::string producer, size_t most_wrong, ProofCache& cache)
      : producer_(std::move(producer)),
        most_wrong_(most_wrong),
        importer_(settings),
        prover_(importer_.graph(), {}, cache) {}

  // Decides a rule by its instances.
  void decide(LiveRuleProof& rule, std::span<const Rewrite* const> instances) {
    if (instances.empty()) return (void)(rule.verdict = "no instance");
    rule.verdict = "structural";
    size_t open = 0, sampled = 0, number = 0;
    std::vector<const Rewrite*> undecided, weak;
    for (const Rewrite* m : instances) {
      number++;
      SidePairs pairs;
      auto proof = catch_failures([&] { return decide(*m, pairs); });
      if (proof && pairs.empty()) continue;
      rule.instances++;
      if (!proof) proof = RewriteProof{.why = first_line(proof.diag().message)};
      if (proof->kind == Kind::Refuted) explain(rule, pairs, *proof);
      const Kind kind = proof->kind;
      if (kind == Kind::Proven) {
        rule.proven++;
        rule.has_floats |= proof->has_floats, rule.sense = std::max(rule.sense, proof->sense);
        const bool is_weak = proof->has_floats && proof->sense > FloatSense::ButNan;
        if (is_weak) weak.push_back(m);
        if (is_weak && rule.special.empty()) rule.special = prover_.special_counterexample(pairs);
        if (differs_in_zeros(rule.special)) rule.special.clear();
        continue;
      }
      open += kind == Kind::Unknown, sampled += kind == Kind::Sampled;
      undecided.push_back(m);
      const bool is_first = (rule.why.empty() && rule.condition.empty()) || (kind == Kind::Unknown && open == 1);
      if (is_first || kind == Kind::Refuted) {
        rule.why = proof->why, rule.counterexample = proof->counterexample;
        show(rule, pairs);
      }
      if (kind == Kind::Refuted) {
        rule.wrong.emplace_back(graph_of(*m), proof->counterexample);
        add_wrong(rule, instances.subspan(number));
        return (void)(rule.verdict = "refuted");
      }
      if (current_deadline().is_over()) break;
    }
    // also of what is proven for numbers: a float may be a number on one side, and too large for its dtype on the other
    undecided.insert(undecided.end(), weak.begin(), weak.end());
    if (rule.instances == 0 || is_refuted_by_specials(rule, undecided)) return;
    rule.verdict = open                      ? "unknown"
                   : !rule.condition.empty() ? "conditional"
                   : sampled                 ? "sampled"
                                             : "instances";
  }

  // Makes a rule whose instances are proven a proven one, if its sides with unknown values are equal, too.
  void generalize(LiveRuleProof& rule, std::span<const Rewrite* const> sides) {
    if (rule.verdict != "instances" || sides.empty()) return;
    for (const Rewrite* m : sides) {
      SidePairs pairs;
      const auto proof = catch_failures([&] { return decide(*m, pairs); });
      if (!proof || proof->kind != Kind::Proven) return (void)(rule.general = 0);
      rule.general++;
      rule.has_floats |= proof->has_floats, rule.sense = std::max(rule.sense, proof->sense);
    }
    rule.verdict = "proven";
  }

 private:
  static bool differs_in_zeros(const std::map<std::string, std::string>& point) {
    auto is_zero = [&](const char* side) {
      const auto it = point.find(side);
      return it != point.end() && (it->second == "0.0" || it->second == "-0.0");
    };
    return is_zero("before") && is_zero("after");
  }
  // Returns whether a value of a counterexample is a NaN or an infinity.
  static bool is_special(const std::pair<const std::string, std::string>& value) {
    return value.second.ends_with("nan") || value.second.ends_with("inf");
  }
  std::string graph_of(const Rewrite& m) const { return graph_to_json(m.before, {.producer = producer_}); }

  // Asks whether NaN, infinities or numbers that are too large show that an instance is wrong.
  bool is_refuted_by_specials(LiveRuleProof& rule, std::span<const Rewrite* const> undecided) {
    for (const Rewrite* m : undecided) {
      if (rule.has_context || rule.wrong.size() >= most_wrong_ || current_deadline().is_over()) break;
      const SidePairs pairs = sides_of(*m);
      RewriteProof proof;
      proof.counterexample = difference_of_specials(pairs);
      if (!proof.counterexample.empty()) proof.kind = Kind::Refuted, explain(rule, pairs, proof);
      if (proof.kind != Kind::Refuted) continue;
      rule.wrong.emplace_back(graph_of(*m), proof.counterexample);
      if (rule.wrong.size() > 1) continue;
      rule.verdict = "refuted", rule.counterexample = proof.counterexample;
      show(rule, pairs);
    }
    return !rule.wrong.empty();
  }

  // Adds instances for which REF computes different values.
  void add_wrong(LiveRuleProof& rule, std::span<const Rewrite* const> instances) {
    for (const Rewrite* m : instances) {
      if (rule.wrong.size() >= most_wrong_ || current_deadline().is_over()) return;
      (void)catch_failures([&] {
        SidePairs pairs = sides_of(*m);
        LiveRuleProof copy;  // what explain() says of another instance
        RewriteProof proof = pairs.empty() ? RewriteProof{} : evaluate(pairs);
        if (proof.kind == Kind::Refuted) explain(copy, pairs, proof);
        if (proof.kind == Kind::Refuted) rule.wrong.emplace_back(graph_of(*m), proof.counterexample);
        return Unit{};
      });
    }
  }

  static void show(LiveRuleProof& rule, const SidePairs& pairs) {
    if (pairs.empty()) return;
    const Sides& s = pairs[0];
    rule.before = text_of(s.before), rule.after = text_of(s.after);
    rule.before_nodes.clear(), rule.after_nodes.clear();
    const auto a = rule.counterexample.find("before"), b = rule.counterexample.find("after");
    if (a == rule.counterexample.end() || b == rule.counterexample.end()) return;
    rule.before_nodes = node_values(s.before, rule.counterexample, a->second);
    rule.after_nodes = node_values(s.after, rule.counterexample, b->second);
  }

  // Asks whether a counterexample shows that the rule is wrong. If not, changes the kind of the proof.
  void explain(LiveRuleProof& rule, const SidePairs& pairs, RewriteProof& proof) {
    auto set_unknown = [&](std::string why) {
      proof.kind = Kind::Unknown, proof.why = std::move(why), proof.counterexample.clear();
    };
    if (rule.has_context) return set_unknown("its sides differ, but the rule reads a context or tags");
    if (proof.counterexample["before"] == "Invalid")
      return set_unknown("it gives an Invalid index a value, which is right only if nothing is read or stored there");
    if (std::ranges::any_of(pairs, [](const Sides& s) { return has_float_bits(s.before) || has_float_bits(s.after); }))
      return set_unknown("its sides differ, perhaps in the payload of a NaN alone");
    SidePairs restricted;
    for (const Sides& s : pairs) {
      if (!dtypes::is_int(s.before.dtype()) && !dtypes::is_bool(s.before.dtype())) return;
      const UOp a = has_no_overflow(s.before, true, false), b = has_no_overflow(s.after, true, false);
      const UOp when = a && b ? a & b : a ? a : b;
      if (!when) return;
      const UOp zero = s.before.const_like(0);
      restricted.push_back({when.where(s.before, zero), when.where(s.after, zero)});
    }
    const RewriteProof again = decide(restricted);
    if (again.kind != Kind::Proven && again.kind != Kind::Sampled) return;
    if (std::ranges::any_of(proof.counterexample, is_special)) return;  // a NaN explains it, not an overflow
    if (rule.condition.empty()) {
      rule.condition = "no integer overflows", rule.counterexample = proof.counterexample;
      show(rule, pairs);
    }
    proof.kind = again.kind, proof.has_floats = again.has_floats, proof.sense = again.sense;
  }

  RewriteProof decide(const SidePairs& pairs) {
    const RewriteProof proof = prover_.decide(pairs);
    return proof.kind == Kind::Unknown ? evaluate(pairs, proof) : proof;
  }

  // Evaluates the sides in REF.
  RewriteProof evaluate(const SidePairs& pairs, RewriteProof proof = {}) {
    RewriteProof* open = &proof;
    const SidePairs* sides = &pairs;
    prover_.sample({&open, 1}, {&sides, 1});
    return proof;
  }

  // Returns values for which the sides differ in every sense of floats: integers and bools that differ for a NaN or an
  // infinity, and floats that are numbers on one side, and too large for a narrower float on the other.
  std::map<std::string, std::string> difference_of_specials(const SidePairs& pairs) {
    auto any = [&](auto is) { return std::ranges::any_of(pairs, [&](const Sides& s) { return is(s.before); }); };
    const bool is_of_floats = any([](UOp u) { return dtypes::is_float(u.dtype()); });
    if (is_of_floats && !any(has_narrowing)) return {};
    auto found = prover_.special_counterexample(pairs);
    auto is_result = [](auto& value) { return value.first == "before" || value.first == "after"; };
    const auto specials = std::ranges::count_if(found, is_special);
    const auto results = std::ranges::count_if(found, [&](auto& v) { return is_special(v) && is_result(v); });
    if (is_of_floats ? results != 1 || specials != 1 : specials <= results) found.clear();
    return found;
  }
  static bool has_narrowing(UOp root) {
    return std::ranges::any_of(toposort(root), [](UOp u) {
      return u.is(Op::CAST) && dtypes::is_float(u.dtype()) && dtypes::is_float(u.src(0).dtype()) &&
             u.dtype().itemsize() < u.src(0).dtype().itemsize();
    });
  }

  // Returns no pairs if a side cannot be imported, or if the sides have different shapes.
  SidePairs sides_of(const Rewrite& m) {
    SidePairs out;
    if (const auto both = importer_.import(m.before, m.after))
      for (auto [before, after] : both->pairs) out.push_back({before, after, both->tolerance});
    return out;
  }

  RewriteProof decide(const Rewrite& m, SidePairs& pairs) {
    pairs = sides_of(m);
    return pairs.empty() ? RewriteProof{} : decide(pairs);
  }

  const std::string producer_;  // the release
  const size_t most_wrong_;
  SidesImporter importer_;
  SidesProver prover_;
};

}  // namespace

std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache, const LiveRuleOptions& options) {
  const auto pipeline = recorded_pipeline(in);
  std::map<std::string, std::vector<const Rewrite*>> instances;  // by place; "PLACE*": the sides for all operands
  const auto rows = pipeline->rows().value_or_throw();
  for (const Pipeline::Row& row : rows)
    for (const Rewrite& m : row.rewrites) instances[std::string(m.place)].push_back(&m);
  LiveRulesProver prover(in.graph->settings(), in.info.producer, options.most_wrong, cache);
  std::vector<LiveRuleProof> out;
  size_t number = 0;
  for (const GoldenMetadata& m : in.record->metadata) {
    if (options.is_selected && !options.is_selected(number++)) continue;
    LiveRuleProof& rule = out.emplace_back(LiveRuleProof{.place = m.name, .verdict = {}});
    if (const size_t at = m.caller.find(kFunction); at != m.caller.npos)
      rule.function = m.caller.substr(at + kFunction.size(), m.caller.find(' ', at) - at - kFunction.size());
    rule.is_of_values = m.caller.find("values") != m.caller.npos;
    rule.has_context = m.caller.find("context") != m.caller.npos;
    const DeadlineScope limit(options.seconds);
    auto done = catch_failures([&] { return prover.decide(rule, instances[m.name]), Unit{}; });
    if (!done) rule.verdict = "unknown", rule.why = first_line(done.diag().message);
    prover.generalize(rule, instances[m.name + "*"]);
    if (options.on_rule) options.on_rule(rule);
  }
  return out;
}

std::string live_rule_text(const LiveRuleProof& r) {
  std::string out = r.place + (r.function.empty() ? "" : " (" + r.function + ")") + ": " + r.verdict;
  if (r.instances) out += ", " + std::to_string(r.proven) + " of " + counted(r.instances, "instance") + " proven";
  if (r.general) out += ", and for all values of its operands";
  if (r.has_floats) out += ", " + std::string(name_of(r.sense));
  if (r.verdict == "conditional") out += ", if " + r.condition;
  if (r.verdict != "refuted" && !r.special.empty()) out += ", but not where " + point_text(r.special);
  if (!r.counterexample.empty()) out += ": " + point_text(r.counterexample);
  else if (!r.why.empty()) out += ": " + r.why;
  out += "\n";
  if (!r.before.empty()) out += "  " + r.before + "\n  -> " + r.after + "\n";
  for (const std::string& line : r.before_nodes) out += "    -   " + line + "\n";
  for (const std::string& line : r.after_nodes) out += "    +   " + line + "\n";
  return out + r.program.text();
}

std::string live_rules_summary(const std::vector<LiveRuleProof>& all) {
  auto counts = [&](auto&& is_counted) {
    std::string out;
    for (const char* verdict : kVerdicts)
      if (auto n = std::ranges::count_if(all, [&](auto& r) { return r.verdict == verdict && is_counted(r); }))
        out += (out.empty() ? ": " : ", ") + std::to_string(n) + " " + verdict;
    return out + "\n";
  };
  const auto values = size_t(std::ranges::count(all, true, &LiveRuleProof::is_of_values));
  std::string out = counted(all.size(), "rule") + counts([](auto&) { return true; });
  if (values && values < all.size())
    out += "of these, " + std::to_string(values) + " of values" + counts([](auto& r) { return r.is_of_values; });
  return out;
}

std::string live_rules_json(const std::vector<LiveRuleProof>& all) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("rules", all.size());
      for (const char* verdict : kVerdicts)
        json.member(verdict, std::ranges::count(all, verdict, &LiveRuleProof::verdict));
      json.key("list").array([&] {
        for (const LiveRuleProof& r : all)
          json.object([&] {
            json.member("rule", r.place);
            if (!r.function.empty()) json.member("function", r.function);
            json.member("verdict", r.verdict).member("instances", r.instances);
            json.member("proven", r.proven).member("general", r.general).member("values", r.is_of_values);
            json.member("floats", r.has_floats ? name_of(r.sense) : std::string_view("none"));
            if (!r.condition.empty()) json.member("condition", r.condition);
            if (!r.why.empty()) json.member("why", r.why);
            if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
            if (!r.counterexample.empty()) json.member("counterexample", r.counterexample);
            if (!r.special.empty()) json.member("special", r.special);
            if (!r.before_nodes.empty()) json.member("before_nodes", r.before_nodes);
            if (!r.after_nodes.empty()) json.member("after_nodes", r.after_nodes);
            r.program.add_members(json);
          });
      });
    });
  });
}

std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer) {
  std::string out = "# Verdicts of `tgc prove --rules --live` for " + producer + "\n";
  out += "Written with `--write-table`; [lib/prove](../lib/prove/README.md) says what the verdicts mean.\n\n";
  out += live_rules_summary(all);
  out += "\n| rule | verdict | instances | floats | counterexample or reason |\n|---|---|---|---|---|\n";
  for (const LiveRuleProof& r : all) {
    if (r.verdict == "structural" || r.verdict == "no instance") continue;
    std::string detail = r.counterexample.empty() ? r.why : point_text(r.counterexample);
    if (detail.empty() && !r.special.empty()) detail = "not where " + point_text(r.special);
    for (size_t at = 0; (at = detail.find('|', at)) != detail.npos; at += 2) detail.insert(at, "\\");
    out += "| " + r.place + " | " + r.verdict + " | " + std::to_string(r.instances) + " | " +
           (r.has_floats ? std::string(name_of(r.sense)) : "") + " | " + detail + " |\n";
  }
  return out;
}

}  // namespace tgc
