// What a bisection says.
#include "lib/bisect/bisect.h"
#include "lib/support/json_writer.h"

namespace tgc {

std::string_view name_of(BisectReport::Verdict verdict) {
  constexpr std::string_view kNames[] = {"same",   "rewrite",  "shortcut",   "renderer", "compiler",
                                         "device", "schedule", "divergence", "endless",  "deep",
                                         "crash",  "flaky",    "unresolved"};
  return kNames[size_t(verdict)];
}

namespace {

bool may_be_confirmed(const BisectReport& r) {
  using Verdict = BisectReport::Verdict;
  Verdict v = r.verdict;
  return v == Verdict::Rewrite || v == Verdict::Shortcut || v == Verdict::Renderer || v == Verdict::Compiler ||
         v == Verdict::Divergence || (v == Verdict::Schedule && !r.rule.empty());
}

}  // namespace

int BisectReport::exit_code() const { return !error.empty() ? 2 : verdict == Verdict::Same ? 0 : 1; }

std::string BisectReport::text() const {
  std::string out = kernel + " on " + device + ": ";
  if (verdict == Verdict::Same)
    return out + "nothing to blame, " + (detail.empty() ? "it computes what is expected" : detail) + "\n";
  out += std::string(name_of(verdict));
  if (!rule.empty()) out += " " + rule + (branch.empty() ? "" : " [" + branch + "]");
  if (!location.empty()) out += ", " + location;
  out += "\n";
  auto line = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += "  " + name + ": " + value + "\n";
  };
  if (!detail.starts_with(failure) && (detail.empty() || !failure.ends_with(detail))) line("fails", failure);
  line("stage", stage);
  if (!pass.empty()) line("pass", pass + ", number " + std::to_string(pass_number) + ", on " + function);
  if (rewrite) line("rewrite", "number " + std::to_string(rewrite) + " of that rule in that stage");
  auto block = [&](const char* sign, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find('\n', at), text.size());
      out += std::string("  ") + sign + " " + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
  };
  for (const Turn& t : cycle) {
    line("turn", t.rule + (t.branch.empty() ? "" : " [" + t.branch + "]") + ", " + t.location);
    block("-", t.before), block("+", t.after);
  }
  if (cycle.empty()) block("-", before), block("+", after);
  std::string where;
  for (auto& [name, value] : witness)
    if (name != "before" && name != "after") where += (where.empty() ? "" : ", ") + name + " = " + value;
  if (!witness.empty())
    line("for", (where.empty() ? "every point" : where) + ": " + witness.at("before") + " before, " +
                    witness.at("after") + " after");
  line("also", detail);
  if (may_be_confirmed(*this))
    line("confirmed", confirmed && proof.empty()       ? "it fails with it and passes without it"
                      : confirmed                      ? proof
                      : verdict == Verdict::Divergence ? "no: without it the stage is another one, too"
                      : proof.empty()                  ? "no: nothing was found that passes"
                                                       : "no: " + proof);
  char took[64];
  std::snprintf(took, sizeof took, "%zu in %.2f s; %zu of %zu rewrites compared", runs, seconds, looked_at, rewrites);
  line("runs", took);
  line("again", again);
  return out;
}

std::string BisectReport::json() const {
  std::string out;
  JsonWriter json(out);
  auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) json.member(name, value);
  };
  json.object([&] {
    text("kernel", kernel), text("device", device);
    if (!error.empty()) return (void)json.member("error", error);
    json.member("verdict", name_of(verdict));
    text("failure", failure);
    text("stage", stage), text("rule", rule), text("branch", branch), text("location", location);
    if (rewrite) json.member("rewrite", rewrite);
    text("before", before), text("after", after);
    if (!cycle.empty())
      json.key("cycle").array([&] {
        for (const Turn& t : cycle)
          json.object([&] {
            json.member("rule", t.rule).member("branch", t.branch).member("location", t.location);
            json.member("before", t.before).member("after", t.after);
          });
      });
    if (!witness.empty())
      json.key("witness").object([&] {
        for (auto& [name, value] : witness) json.member(name, value);
      });
    if (!pass.empty()) json.member("pass", pass).member("pass_number", pass_number).member("function", function);
    if (may_be_confirmed(*this)) json.member("confirmed", confirmed);
    text("proof", proof);
    text("detail", detail);
    json.member("rewrites", rewrites).member("compared", looked_at).member("runs", runs);
    json.key("seconds").number(seconds, "%.3f");
    text("again", again);
  });
  return out + "\n";
}

}  // namespace tgc
