// The reports of tgc prove INPUT.
#include "lib/prove/prove_kernel.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::string_view sense_name(const KernelProof& proof) {
  if (!proof.has_floats()) return "none";
  switch (proof.weakest()) {
    case FloatSense::Uninterpreted:
    case FloatSense::Exact: return "bit-exact";
    case FloatSense::Finite: return "but-nan";
    case FloatSense::Real: return "reals";
  }
  return "none";
}

std::string_view stage_name(const Application& a) {
  return a.stage ? a.stage->name : std::string_view("before the stages");
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
  std::snprintf(seconds, sizeof seconds, "%.2f s", proof.seconds);
  std::string out = proof.kernel + ": " + std::string(name_of(proof.verdict));
  if (proof.error) return out + ", " + proof.error->message + "\n";
  if (proof.verdict == Kind::Proven && proof.has_floats()) out += " (" + std::string(sense_name(proof)) + ")";
  out += ", " + std::to_string(proof.rewrites.size()) + " rewrites";
  for (Kind kind : {Kind::Sampled, Kind::Refuted, Kind::Unknown})
    if (size_t n = proof.count(kind)) out += ", " + std::to_string(n) + " " + std::string(name_of(kind));
  out += ", " + std::string(seconds) + "\n";
  for (const RewriteProof& r : proof.rewrites) {
    if (r.kind == Kind::Proven) continue;
    const Application& a = proof.log.list()[r.application];
    out += "  " + std::string(name_of(r.kind)) + ": number " + std::to_string(a.in_stage) + " of " +
           std::string(a.rule->name) + " in '" + std::string(stage_name(a)) + "', " + location_of(*a.rule);
    if (r.kind != Kind::Refuted) out += ": " + r.why;
    for (auto& [name, value] : r.counterexample)
      out += (name == r.counterexample.begin()->first ? ": " : ", ") + name + " = " + value;
    out += "\n";
  }
  return out;
}

std::string proof_json(const KernelProof& proof) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("kernel", proof.kernel)
          .member("verdict", name_of(proof.verdict))
          .member("rewrites", proof.rewrites.size());
      json.member("proven", proof.count(Kind::Proven)).member("sampled", proof.count(Kind::Sampled));
      auto list = [&](std::string_view key, Kind kind) {
        json.key(key).array([&] {
          for (const RewriteProof& r : proof.rewrites) {
            if (r.kind != kind) continue;
            const Application& a = proof.log.list()[r.application];
            json.object([&] {
              json.member("stage", stage_name(a)).member("rule", a.rule->name).member("rewrite", a.in_stage);
              if (a.branch) json.member("branch", a.branch);
              if (kind == Kind::Refuted) json.member("counterexample", r.counterexample);
              else json.member("why", r.why);
            });
          }
        });
      };
      list("refuted", Kind::Refuted), list("unknown", Kind::Unknown), list("samples", Kind::Sampled);
      json.member("floats", sense_name(proof));
      if (proof.error) json.member("error", proof.error->message);
      json.key("seconds").number(proof.seconds, "%.4f");
    });
  });
}

}  // namespace tgc
