#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "lib/prove/node_values.h"
#include "lib/prove/prove_kernel.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::string_view sense_name(const KernelProof& proof) {
  return proof.has_floats() ? name_of(proof.weakest_sense()) : "none";
}

constexpr Kind kKinds[] = {Kind::Proven, Kind::Sampled, Kind::Refuted, Kind::Unknown};

struct CountedProof {
  const RewriteProof* proof;
  size_t count = 1;
};

// Returns the rewrites and findings that are not proven: of several sampled or several unknown rewrites with the same
// stage, rule and reason, only the first.
std::vector<CountedProof> open_rewrites(const KernelProof& proof) {
  std::vector<CountedProof> out;
  std::map<std::tuple<Kind, std::string_view, std::string_view, std::string_view>, size_t> index_by_key;
  for (const auto* list : {&proof.stage_findings, &proof.rewrites})
    for (const RewriteProof& r : *list) {
      if (r.kind == Kind::Proven) continue;
      const bool is_alone = r.kind == Kind::Refuted || r.place.rule.empty();
      const size_t next = out.size();
      const size_t at =
          is_alone ? next
                   : index_by_key.try_emplace({r.kind, r.place.stage, r.place.rule, r.reason}, next).first->second;
      if (at == next) out.push_back({&r});
      else out[at].count++;
    }
  return out;
}

std::vector<CountedProof> weak_rewrites(const KernelProof& proof) {
  std::vector<CountedProof> out;
  std::map<std::tuple<FloatSense, std::string_view, std::string_view>, size_t> index_by_key;
  for (const auto* list : {&proof.stage_findings, &proof.rewrites})
    for (const RewriteProof& r : *list) {
      if (r.kind != Kind::Proven || !r.has_floats || r.sense <= FloatSense::ButNan) continue;
      auto [at, is_new] = index_by_key.try_emplace({r.sense, r.place.stage, r.place.rule}, out.size());
      if (is_new) out.push_back({&r});
      else out[at->second].count++;
    }
  return out;
}

std::string reasons_text(const KernelProof& proof) {
  constexpr size_t kMost = 3;
  std::string out = proof.schedule_check_text.empty() ? "" : "  " + proof.schedule_check_text + "\n";
  std::map<std::string_view, size_t> counts;
  for (const auto* list : {&proof.stage_findings, &proof.rewrites})
    for (const RewriteProof& r : *list)
      if (r.kind == Kind::Unknown) counts[std::string_view(r.reason).substr(0, r.reason.find_first_of(":;"))]++;
  if (counts.empty()) return out;
  std::vector<std::pair<std::string_view, size_t>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater<>(), &std::pair<std::string_view, size_t>::second);
  out += "  not decided:";
  for (size_t i = 0; i < std::min(kMost, all.size()); i++)
    out += (i ? ", " : " ") + std::to_string(all[i].second) + " times '" + std::string(all[i].first) + "'";
  if (all.size() > kMost) out += ", " + std::to_string(all.size() - kMost) + " other reasons";
  return out + "; --json lists them\n";
}

size_t count_distinct_proofs(const KernelProof& proof) {
  size_t out = 0;
  for (Kind kind : kKinds) out += proof.num_distinct_proofs(kind);
  return out;
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Proven: return "proven";
    case Kind::Sampled: return "sampled";
    case Kind::Refuted: return "refuted";
    case Kind::Unknown: return "unknown";
  }
  return "";
}

std::string proof_text(const KernelProof& proof) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f s", proof.proof_seconds);
  std::string out = proof.kernel + ": " + std::string(name_of(proof.verdict));
  if (proof.error && proof.verdict != Kind::Refuted) return out + ", " + proof.error->message + "\n";
  if (proof.verdict == Kind::Proven && proof.has_floats() && proof.weakest_sense() > FloatSense::ButNan)
    out += " (" + std::string(sense_name(proof)) + ")";
  out += ", " + std::to_string(proof.rewrites.size()) + " rewrites";
  if (!proof.producer.empty()) out += " of " + proof.producer;
  out += ", " + std::to_string(count_distinct_proofs(proof)) + " distinct";
  for (Kind kind : {Kind::Proven, Kind::Sampled, Kind::Refuted, Kind::Unknown})
    if (size_t n = proof.num_distinct_proofs(kind); n && (kind != Kind::Proven || proof.is_schedule))
      out += ", " + std::to_string(n) + " " + std::string(name_of(kind));
  if (const auto error = proof.largest_error(); error && proof.weakest_sense() == FloatSense::Real) {
    char text[64];
    std::snprintf(text, sizeof text, ", error of a rewrite at samples up to %.3g ulp", *error);
    out += text;
  }
  for (auto& [key, a] : proof.approximations) {
    char text[64];
    std::snprintf(text, sizeof text, ", %s up to %.3g ulp", a.first.c_str(), a.second.max_ulp);
    out += text;
    if (a.first.starts_with("SIN")) out += " of 1";
    if (a.second.num_special_inputs)
      out += " but for " + count_text(a.second.num_special_inputs, "operand") + " without a number";
  }
  out += ", " + std::string(seconds) + "\n";
  if (proof.error) out += "  " + proof.error->message + "\n";
  for (auto& [rewrite_proof, count] : open_rewrites(proof)) {
    const RewriteProof& r = *rewrite_proof;
    const RewritePlace& a = r.place;
    if (proof.is_schedule && r.kind != Kind::Refuted) continue;
    out += "  " + std::string(name_of(r.kind)) + ": ";
    if (a.rule.empty()) out += "stage '" + std::string(a.stage) + "'";
    else
      out += "number " + std::to_string(a.rule_rewrite_number) + " of " + std::string(a.rule) + " in '" +
             std::string(a.stage) + "'";
    if (!a.file.empty()) out += ", " + std::string(a.file) + ":" + std::to_string(a.line);
    if (r.kind != Kind::Refuted || a.rule.empty()) out += ": " + r.reason;
    if (count > 1) out += " (" + std::to_string(count) + " times)";
    out += (r.counterexample.empty() ? "" : ": " + point_text(r.counterexample)) + "\n";
    if (!r.before.empty()) out += "    - " + r.before + "\n    + " + r.after + "\n";
    for (const std::string& line : r.before_nodes) out += "    -   " + line + "\n";
    for (const std::string& line : r.after_nodes) out += "    +   " + line + "\n";
  }
  if (proof.is_schedule) out += reasons_text(proof);
  return out + proof.program.text();
}

std::string proof_json(const KernelProof& proof) {
  const std::vector<CountedProof> open = open_rewrites(proof);
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("kernel", proof.kernel)
          .member("verdict", name_of(proof.verdict))
          .member("rewrites", count_distinct_proofs(proof))
          .member("applications", proof.rewrites.size());
      json.member("proven", proof.num_distinct_proofs(Kind::Proven))
          .member("sampled", proof.num_distinct_proofs(Kind::Sampled));
      auto list = [&](std::string_view key, Kind kind) {
        json.key(key).array([&] {
          for (auto& [rewrite_proof, count] : open) {
            const RewriteProof& r = *rewrite_proof;
            if (r.kind != kind) continue;
            json.object([&] {
              json.member("stage", r.place.stage)
                  .member("rule", r.place.rule)
                  .member("rewrite", r.place.rule_rewrite_number);
              if (!r.place.branch.empty()) json.member("branch", r.place.branch);
              if (kind == Kind::Refuted) json.member("counterexample", r.counterexample);
              if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
              if (!r.before_nodes.empty()) json.member("before_nodes", r.before_nodes);
              if (!r.after_nodes.empty()) json.member("after_nodes", r.after_nodes);
              if (kind != Kind::Refuted || !r.reason.empty()) json.member("why", r.reason).member("count", count);
            });
          }
        });
      };
      list("refuted", Kind::Refuted), list("unknown", Kind::Unknown), list("samples", Kind::Sampled);
      json.key("weak").array([&] {
        for (auto& [rewrite_proof, count] : weak_rewrites(proof))
          json.object([&] {
            json.member("stage", rewrite_proof->place.stage)
                .member("rule", rewrite_proof->place.rule)
                .member("rewrite", rewrite_proof->place.rule_rewrite_number);
            json.member("floats", name_of(rewrite_proof->sense)).member("count", count);
            if (rewrite_proof->largest_error) json.key("ulp").number(*rewrite_proof->largest_error, "%.3g");
          });
      });
      if (!proof.approximations.empty())
        json.key("approximations").array([&] {
          for (auto& [key, a] : proof.approximations)
            json.object([&] {
              json.member("function", a.first).key("ulp").number(a.second.max_ulp, "%.4g");
              json.member("special", a.second.num_special_inputs);
              json.member("key", key);
            });
        });
      json.member("floats", sense_name(proof)).member("schedule", proof.is_schedule);
      json.member("checked_stages", proof.num_checked_stages);
      if (!proof.schedule_check_text.empty()) json.member("checked", proof.schedule_check_text);
      proof.program.add_members(json);
      if (proof.error) json.member("error", proof.error->message);
      json.key("seconds").number(proof.proof_seconds, "%.4f");
    });
  });
}

std::string proof_marks_json(const KernelProof& proof) {
  std::vector<std::string> marks;
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("verdict", name_of(proof.verdict)).member("floats", sense_name(proof));
      for (Kind kind : kKinds)
        json.member(name_of(kind), proof.num_with_verdict(kind));
      if (proof.error) json.member("error", proof.error->message);
      json.key("notes").array([&] {
        for (const RewriteProof& r : proof.rewrites) {
          const size_t stage = r.place.stage_number;
          if (stage == SIZE_MAX) continue;
          if (marks.size() <= stage) marks.resize(stage + 1);
          marks[stage] += name_of(r.kind)[0];
          if (r.kind == Kind::Proven) continue;
          json.object([&] {
            json.member("stage", stage).member("rewrite", marks[stage].size() - 1);
            if (r.kind != Kind::Refuted) json.member("why", r.reason);
            else json.member("counterexample", r.counterexample).member("before", r.before_nodes)
                    .member("after", r.after_nodes);
          });
        }
      });
      json.member("marks", marks);
    });
  });
}

}  // namespace tgc
