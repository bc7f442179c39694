#include "lib/bisect/bisect.h"
#include "lib/runtime/compare.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

const std::string kAsExpectedText = "it computes what is expected";

}  // namespace

std::string_view name_of(Verdict::Kind kind) {
  constexpr std::string_view kNames[] = {"same",   "rewrite",  "shortcut",   "renderer", "compiler",
                                         "device", "schedule", "divergence", "endless",  "deep",
                                         "crash",  "hazard",   "flaky",      "unresolved",
                                         "known",  "order",    "refused",    "barrier"};
  return kNames[size_t(kind)];
}

bool Verdict::can_be_confirmed() const {
  return kind == Kind::Rewrite || kind == Kind::Shortcut || kind == Kind::Renderer || kind == Kind::Compiler ||
         kind == Kind::Divergence || kind == Kind::Known || (kind == Kind::Schedule && !rule.empty());
}

void BisectCounts::update_element_counts(const std::vector<Comparison>& arrays) {
  int64_t all = 0, left_out = 0;
  for (const Comparison& c : arrays) all += c.num_elements, left_out += c.num_left_out;
  if (left_out >= num_left_out) num_elements = all, num_left_out = left_out;
}

void BisectReport::note_left_out_elements() {
  if (verdict.kind != Verdict::Kind::Same || !counts.num_left_out || !error.empty()) return;
  const std::string reason = ": " + std::string(kLeftOutReason) + " ";
  if (!counts.has_compared_elements()) {
    error = "not decided: nothing was compared" + reason + "every element";
    return;
  }
  if (verdict.detail.empty()) verdict.detail = kAsExpectedText;
  verdict.detail += "; " + std::to_string(counts.num_left_out) + " of " + std::to_string(counts.num_elements) +
                    " elements left out" + reason + "them";
}

int BisectReport::exit_code() const {
  if (!error.empty() || verdict.kind == Verdict::Kind::Refused) return 2;
  if (verdict.kind == Verdict::Kind::Known) return is_strict || verdict.is_shown_by_given_inputs;
  return verdict.kind != Verdict::Kind::Same;
}

std::string BisectReport::text() const {
  const Verdict& v = verdict;
  std::string out = (is_schedule ? "schedule " : "") + kernel + " on " + device + ": ";
  auto line = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += "  " + name + ": " + value + "\n";
  };
  if (v.kind == Verdict::Kind::Same) {
    out += "no failure";
    if (counts.num_left_out)
      out += " in " + std::to_string(counts.num_elements - counts.num_left_out) + " of " +
             std::to_string(counts.num_elements) + " elements";
    out += ", " + (v.detail.empty() ? kAsExpectedText : v.detail) + "\n";
    line("made for", origin_text);
    for (const std::string& note : notes) line("note", note);
    return out;
  }
  out += std::string(name_of(v.kind));
  if (!v.rule.empty()) out += " " + v.rule + (v.branch.empty() ? "" : " [" + v.branch + "]");
  if (!v.location.empty() && v.location != v.rule) out += ", " + v.location;
  if (!v.tinygrad_location.empty() && v.tinygrad_location != v.location) out += " (" + v.tinygrad_location + ")";
  out += "\n";
  auto block = [&](const char* sign, const std::string& text) {
    for (std::string_view l : lines_of(text)) out += std::string("  ") + sign + " " + std::string(l) + "\n";
  };
  if (!v.detail.starts_with(failure_text) && (v.detail.empty() || !failure_text.ends_with(v.detail)))
    line("fails", failure_text);
  if (!failure_text.empty() && v.witness.empty() && !wrong_element.empty()) {
    std::string inputs;
    for (auto& [name, value] : wrong_element)
      if (name != "element" && name != "before" && name != "after")
        inputs += (inputs.empty() ? " for " : ", ") +
                  (name.ends_with("[more]") ? "and more of " + name.substr(0, name.size() - 6) : name + " = " + value);
    line("element", wrong_element.at("element") + ": expected " + wrong_element.at("before") + ", got " +
                        wrong_element.at("after") + inputs);
  }
  if (!v.missing_edge_kind.empty())
    line("edge", v.missing_edge_kind + ", through " + v.shared_buffer + ": " + v.function + " should make it");
  if (v.kind == Verdict::Kind::Order && v.missing_edge_kind.empty()) line("caused by", v.function);
  if (v.kind == Verdict::Kind::Hazard && !v.function.empty()) line("prevented by", v.function);
  if (v.kind == Verdict::Kind::Barrier && !v.function.empty()) line("added by", v.function);
  if (v.kind == Verdict::Kind::Rewrite && !v.function.empty()) line("computed by", v.function);
  line("made for", origin_text);
  for (const std::string& note : notes) line("note", note);
  line("stage", v.stage + (v.stage_location.empty() ? "" : ", " + v.stage_location));
  if (!v.pass_name.empty())
    line("pass", v.pass_name + ", number " + std::to_string(v.pass_number) + ", on " + v.function);
  if (v.rewrite_number) line("rewrite", "number " + std::to_string(v.rewrite_number) + " of that rule in that stage");
  for (const Verdict::CycleStep& step : v.rule_cycle) {
    line("cycle", step.rule + (step.branch.empty() ? "" : " [" + step.branch + "]") + ", " + step.location);
    block("-", step.before), block("+", step.after);
  }
  if (v.rule_cycle.empty()) block("-", v.before), block("+", v.after);
  std::string where;
  for (auto& [name, value] : v.witness)
    if (name != "before" && name != "after") where += (where.empty() ? "" : ", ") + name + " = " + value;
  if (!v.witness.empty()) {
    // tgc prints IDIV and MOD as // and %, which round down in Python, although the ops round toward zero.
    const bool is_own_rule = v.location.find(".cpp:") != std::string::npos;
    const bool divides = (v.before + v.after).find_first_of("/%") != std::string::npos;
    line("for", (where.empty() ? "every point" : where) + ": " + v.witness.at("before") + " before, " +
         v.witness.at("after") + " after" + (is_own_rule && divides ? " (// rounds toward zero)" : ""));
  }
  line("also", v.detail);
  if (v.can_be_confirmed())
    line("confirmed", v.is_confirmed && v.proof.empty()             ? "it fails with it and passes without it"
                      : v.is_confirmed                              ? v.proof
                      : v.kind == Verdict::Kind::Divergence      ? "no: the stage also differs without it"
                      : v.proof.empty()                          ? "no: no run without it passes"
                                                                 : "no: " + v.proof);
  line("known", v.known_fault_text);
  line("issue", v.issue_url);
  if (!v.program_text.empty()) out += "  program that shows it:\n";
  for (std::string_view l : lines_of(v.program_text)) out += "    " + std::string(l) + "\n";
  line("runs", formatted("%zu in %.2f s; %zu of %zu rewrites compared", counts.num_runs, wall_seconds,
                         counts.num_compared, counts.num_rewrites));
  line("again", repro_command);
  return out;
}

std::string BisectReport::json() const {
  const Verdict& v = verdict;
  return json_object([&](JsonWriter& json) {
    auto text = [&](const char* name, const std::string& value) {
      if (!value.empty()) json.member(name, value);
    };
    text("kernel", kernel), text("device", device), text("made_for", origin_text);
    if (!error.empty()) return (void)json.member("error", error);
    json.member("verdict", name_of(v.kind));
    text("failure", failure_text);
    text("stage", v.stage), text("rule", v.rule), text("branch", v.branch), text("location", v.location);
    text("tinygrad_location", v.tinygrad_location), text("stage_location", v.stage_location);
    text("function_location", v.function_location), text("listed_location", v.listed_location);
    text("pipeline", pipeline_kind);
    if (v.rewrite_number) json.member("rewrite", v.rewrite_number);
    text("before", v.before), text("after", v.after);
    if (!v.rule_cycle.empty())
      json.key("cycle").array([&] {
        for (const Verdict::CycleStep& step : v.rule_cycle)
          json.object([&] {
            json.member("rule", step.rule).member("branch", step.branch).member("location", step.location);
            json.member("before", step.before).member("after", step.after);
          });
      });
    if (!v.witness.empty()) json.member("witness", v.witness);
    if (!failure_text.empty() && !wrong_element.empty())
      json.member("wrong_element", wrong_element);
    if (!v.kernel_numbers.empty()) {
      json.key("kernels").array([&] {
        for (size_t k : v.kernel_numbers) json.number(double(k), "%.0f");
      });
      json.member("buffer", v.shared_buffer).member("edge", v.missing_edge_kind).member("function", v.function);
    }
    if (v.kernel_numbers.empty() && v.pass_name.empty()) text("function", v.function);
    if (!notes.empty()) json.member("notes", notes);
    if (v.kind == Verdict::Kind::Refused) json.member("error", v.detail);
    if (!v.pass_name.empty())
      json.member("pass", v.pass_name).member("pass_number", v.pass_number).member("function", v.function);
    if (v.can_be_confirmed()) json.member("confirmed", v.is_confirmed);
    text("entry", v.known_fault_name), text("issue", v.issue_url), text("program", v.program_text);
    text("proof", v.proof), text("detail", v.detail);
    if (counts.num_left_out) json.member("elements", counts.num_elements).member("left_out", counts.num_left_out);
    json.member("rewrites", counts.num_rewrites)
        .member("compared", counts.num_compared)
        .member("runs", counts.num_runs);
    json.key("seconds").number(wall_seconds, "%.3f");
    text("again", repro_command);
  }) + "\n";
}

}  // namespace tgc
