// What a bisection says.
#include "lib/session/bisect.h"
#include "lib/support/json_writer.h"

namespace tgc {

std::string_view name_of(BisectReport::Verdict verdict) {
  constexpr std::string_view kNames[] = {"same",   "rewrite", "shortcut", "renderer", "compiler",
                                         "device", "flaky",   "crash",    "unresolved"};
  return kNames[size_t(verdict)];
}

int BisectReport::exit_code() const { return !error.empty() ? 2 : verdict == Verdict::Same ? 0 : 1; }

std::string BisectReport::text() const {
  std::string out = kernel + " on " + device + ": ";
  if (verdict == Verdict::Same) return out + "nothing to blame, it computes what is expected\n";
  out += std::string(name_of(verdict));
  if (!rule.empty()) out += " " + rule + (branch.empty() ? "" : " [" + branch + "]");
  if (!location.empty()) out += ", " + location;
  out += "\n";
  auto line = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += "  " + name + ": " + value + "\n";
  };
  line("stage", stage);
  if (rewrite) line("rewrite", "number " + std::to_string(rewrite) + " of that rule in that stage");
  auto block = [&](const char* sign, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find('\n', at), text.size());
      out += std::string("  ") + sign + " " + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
  };
  block("-", before);
  block("+", after);
  std::string where;
  for (auto& [name, value] : witness)
    if (name != "before" && name != "after") where += (where.empty() ? "" : ", ") + name + " = " + value;
  if (!witness.empty())
    line("for", (where.empty() ? "every point" : where) + ": " + witness.at("before") + " before, " +
                    witness.at("after") + " after");
  line("also", detail);
  if (verdict == Verdict::Rewrite || verdict == Verdict::Shortcut)
    line("confirmed", confirmed ? "it fails with it and passes without it" : "no: nothing was found that passes");
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
    if (!error.empty()) {
      json.member("error", error);
      return;
    }
    json.member("verdict", name_of(verdict));
    text("stage", stage), text("rule", rule), text("branch", branch), text("location", location);
    if (rewrite) json.member("rewrite", rewrite);
    text("before", before), text("after", after);
    if (!witness.empty())
      json.key("witness").object([&] {
        for (auto& [name, value] : witness) json.member(name, value);
      });
    if (verdict == Verdict::Rewrite || verdict == Verdict::Shortcut) json.member("confirmed", confirmed);
    text("detail", detail);
    json.member("rewrites", rewrites).member("compared", looked_at).member("runs", runs);
    json.key("seconds").number(seconds, "%.3f");
    text("again", again);
  });
  return out + "\n";
}

}  // namespace tgc
