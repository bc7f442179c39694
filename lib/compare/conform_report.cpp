#include <algorithm>
#include <filesystem>

#include "lib/compare/conform.h"
#include "lib/records/input_file.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/table.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

constexpr std::string_view kBaselineHead = "# tgc conform: what conforms, by record, target and stage\n";
constexpr std::string_view kAs = "# --as=";

std::string with_commas(size_t n) {
  std::string out = std::to_string(n);
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

}  // namespace

Result<std::set<std::string>> read_baseline(const std::string& file, const std::string& as) {
  auto text = read_file(file);
  if (!text) return text.diag();
  std::set<std::string> out;
  for (std::string_view line : lines_of(*text)) {
    if (line.starts_with(kAs) && line.substr(kAs.size()) != as)
      return Diag{.message = "the baseline was written with " + std::string(line.substr(2)) + ", not --as=" + as,
                  .file = file};
    if (line.empty() || line[0] == '#') continue;
    if (std::ranges::count(line, '\t') != 2)
      return Diag{.message = "'" + std::string(line) + "' is no line of a baseline",
                  .file = file,
                  .expected = "a file that --write-baseline wrote"};
    out.emplace(line);
  }
  return out;
}

std::string_view name_of(AnswerVerdict verdict) {
  constexpr std::string_view kNames[] = {"same", "unchanged", "different", "not supported", "error"};
  return kNames[size_t(verdict)];
}

size_t& ConformCounts::count_of_verdict(AnswerVerdict verdict) {
  switch (verdict) {
    case AnswerVerdict::Same: return num_same;
    case AnswerVerdict::Unchanged: return num_unchanged;
    case AnswerVerdict::Different: return num_different;
    case AnswerVerdict::NotSupported: return num_not_supported;
    case AnswerVerdict::Error: break;
  }
  return num_errors;
}

ConformCounts ConformReport::total_counts() const {
  ConformCounts out;
  for (auto& [stage, c] : stage_counts) {
    out.num_same += c.num_same, out.num_unchanged += c.num_unchanged, out.num_different += c.num_different;
    out.num_not_supported += c.num_not_supported, out.num_errors += c.num_errors;
  }
  return out;
}

Status ConformReport::compare_to_baseline(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return Diag{.message = "there is no such baseline yet", .file = file, .expected = "--write-baseline, once"};
  auto lines = read_baseline(file, comparison_name);
  if (!lines) return lines.diag();
  BaselineDiff now;
  size_t asked = 0;
  std::set<std::string> counted;
  for (const AnswerRecord& a : answers) {
    if (!counted.insert(a.key()).second) continue;
    bool was = lines->contains(a.key());
    asked += was;
    if (is_conforming(a.verdict)) now.num_better += !was;
    else if (was)
      now.worse_answers.push_back(record_label(a.id, a.target) + ": " + a.stage + " is " +
                          (a.verdict == AnswerVerdict::Error ? "an error" : std::string(name_of(a.verdict))) + " now");
  }
  if (lines->empty())
    return Diag{.message = "the baseline is empty", .file = file, .expected = "--write-baseline, once"};
  now.num_not_asked = lines->size() - asked;
  baseline_diff = std::move(now);
  return Unit{};
}

Status ConformReport::write_baseline(const std::string& file) const {
  std::set<std::string> lines;
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) {
    auto old = read_baseline(file, comparison_name);
    if (!old) return old.diag();
    lines = std::move(*old);
  }
  for (const AnswerRecord& a : answers)
    if (is_conforming(a.verdict)) lines.insert(a.key());
    else lines.erase(a.key());
  if (lines.empty()) return Diag{.message = "nothing conforms, so there is no baseline to write", .file = file};
  std::string text(kBaselineHead);
  text.append(kAs).append(comparison_name).append("\n");
  for (const std::string& line : lines) text += line + "\n";
  return write_file(file, text);
}

std::string ConformReport::text(bool paint) const {
  constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kBold = "\x1b[1m";
  std::string out, unsupported;
  for (const std::string& s : shown_differences) out += s;
  auto painted = [&](const std::string& text, std::string_view color) {
    return paint && !color.empty() ? std::string(color) + text + "\x1b[0m" : text;
  };
  auto number = [&](size_t n, std::string_view color) { return n ? painted(with_commas(n), color) : "-"; };
  std::vector<std::string> head{"stage", "same", "different", "error", "not supported", "first that does not conform"};
  for (std::string& cell : head) cell = painted(cell, kBold);
  head[0].insert(0, "  ");
  std::vector<std::vector<std::string>> rows{head};
  auto row = [&](const std::string& name, const ConformCounts& c) {
    rows.push_back({"  " + name, number(c.num_same, c.num_same == c.num_compared() ? kGreen : ""),
                    number(c.num_different, kRed), number(c.num_errors, kRed), number(c.num_not_supported, ""),
                    c.first_wrong_record});
  };
  for (auto& [stage, c] : stage_counts)
    if (c.num_compared()) row(stage, c);
    else if (c.num_not_supported) unsupported += (unsupported.empty() ? "" : ", ") + stage;
  ConformCounts all = total_counts();
  if (all.num_compared()) {
    row("all", all);
    out += table_text(rows, "lrrrr");
  }
  if (!unsupported.empty()) out += "not supported at all: " + unsupported + "\n";
  if (all.num_compared()) out += with_commas(all.num_same) + " of " + with_commas(all.num_compared()) + " conform\n";
  if (all.num_unchanged)
    out += with_commas(all.num_unchanged) +
           " answers not counted: tinygrad changes nothing in these stages, nor do the answers\n";
  if (!end_reason.empty()) out += "not all was asked: " + end_reason + "\n";
  if (baseline_diff) {
    for (const std::string& w : baseline_diff->worse_answers) out += "worse than the baseline: " + w + "\n";
    if (baseline_diff->worse_answers.empty()) out += "nothing is worse than the baseline\n";
    if (baseline_diff->num_better)
      out +=
          with_commas(baseline_diff->num_better) + " more conform than the baseline has: --write-baseline keeps them\n";
    if (baseline_diff->num_not_asked)
      out += with_commas(baseline_diff->num_not_asked) + " of the baseline were not asked\n";
  }
  return out;
}

std::string ConformReport::json() const {
  return json_object([&](JsonWriter& json) {
    auto counts = [&](const ConformCounts& c) {
      json.member("same", c.num_same).member("different", c.num_different).member("not_supported", c.num_not_supported);
      json.member("error", c.num_errors);
      if (comparison_name == "values") json.member("unchanged", c.num_unchanged);
    };
    ConformCounts all = total_counts();
    json.member("questions", all.num_questions());
    counts(all);
    json.key("stages").object([&] {
      for (auto& [stage, c] : stage_counts) json.key(stage).object([&] { counts(c); });
    });
    json.key("list").array([&] {
      for (const AnswerRecord& a : answers)
        if (a.verdict == AnswerVerdict::Different || a.verdict == AnswerVerdict::Error)
          json.start_line().object([&] {
            json.member("id", a.id).member("target", a.target).member("stage", a.stage);
            json.member("verdict", name_of(a.verdict));
          });
    });
    json.member("shown", shown_differences);
    if (baseline_diff) {
      json.member("worse", baseline_diff->worse_answers).member("better", baseline_diff->num_better);
      json.member("not_asked", baseline_diff->num_not_asked);
    }
    if (!end_reason.empty()) json.member("ended", end_reason);
  }) + "\n";
}

CiReport ConformReport::ci(const std::set<std::string>& baseline) const {
  static constexpr CiRule kRules[] = {{"answer-differs", "The port's answer is not what tinygrad made."},
                                      {"answer-fails", "The port has no valid answer."}};
  CiReport out("conform", kRules);
  for (const AnswerRecord& a : answers) {
    CiCase test{.name = record_label(a.id, a.target) + ": " + a.stage, .file = a.file,
                .line = a.line};
    const bool fails = a.verdict == AnswerVerdict::Error;
    if (!is_conforming(a.verdict))
      test.message = "the answer is " + std::string(fails ? "an " : "") + std::string(name_of(a.verdict));
    if (a.verdict == AnswerVerdict::NotSupported) {
      test.verdict = CiVerdict::Skipped;
    } else if (!is_conforming(a.verdict) && !baseline.empty() && !baseline.contains(a.key())) {
      test.verdict = CiVerdict::Skipped, test.message += ", as in the baseline";
    } else if (!is_conforming(a.verdict)) {
      test.verdict = fails ? CiVerdict::Error : CiVerdict::Failed;
      test.rule = fails ? "answer-fails" : "answer-differs";
      test.details_text = a.difference;
    }
    out.add_case(std::move(test));
  }
  return out;
}

}  // namespace tgc
