#include "lib/beam/beam_log.h"

#include <algorithm>
#include <cmath>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr const char* kFoundBefore = "  found before: --anew searches again, and has rounds to tell of\n";

// Returns tinygrad's repr of an Opt in short form: "UPCAST 0 4", "UNROLL 0 all".
std::string short_opt(const std::string& opt) {
  auto part = [&](std::string_view from, std::string_view to) {
    size_t at = opt.find(from);
    if (at == opt.npos) return std::string();
    at += from.size();
    return opt.substr(at, opt.find(to, at) - at);
  };
  std::string op = part("OptOps.", ","), axis = part("axis=", ","), arg = part("arg=", ")");
  if (arg.starts_with("(")) arg += ")";
  bool splits = op != "SWAP" && op != "PADTO" && op != "TC";
  return op + " " + axis + " " + (arg == "0" && splits ? "all" : arg);
}

std::string short_opts(const OptTexts& opts) {
  std::string out;
  for (const std::string& opt : opts) out += (out.empty() ? "" : ", ") + short_opt(opt);
  return out.empty() ? "none" : out;
}

}  // namespace

std::string seconds_text(double s) {
  if (!std::isfinite(s)) return "-";
  if (s < 1e-3) return formatted("%.2f us", s * 1e6);
  return s < 1 ? formatted("%.3f ms", s * 1e3) : formatted("%.3f s", s);
}

size_t BeamLog::count(CandidateOutcome outcome) const {
  size_t out = 0;
  for (const RoundLog& r : rounds) out += size_t(std::ranges::count(r.candidates, outcome, &CandidateLog::outcome));
  return out;
}

size_t BeamLog::candidates() const {
  size_t out = 0;
  for (const RoundLog& round : rounds) out += round.candidates.size();
  return out;
}

std::string enumeration_json(const BeamLog& log) {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", log.kernel).member("target", log.target).member("key", to_hex(log.key));
    json.key("rounds").array([&] {
      for (const RoundLog& round : log.rounds)
        json.object([&] {
          json.member("from", round.beam.front()).member("beam", round.beam);
          json.key("candidates").array([&] {
            for (const CandidateLog& c : round.candidates) json.value(c.opts);
          });
          json.key("verdicts").array([&] {
            for (const CandidateLog& c : round.candidates) json.value(name_of(c.outcome));
          });
        });
    });
    json.member("opts", log.opts);
  }) + "\n";
}

std::string result_json(const BeamLog& log) {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", log.kernel).member("target", log.target).member("device", log.device);
    json.member("key", to_hex(log.key)).member("width", log.width).member("opts", log.opts);
    json.member("seconds", log.seconds).member("before", log.before).member("before_opts", log.before_opts);
    json.member("candidates", log.candidates()).member("timed", log.count(CandidateOutcome::Timed));
    json.member("wall", log.wall).member("interrupted", log.interrupted).member("resumed", log.resumed);
    json.member("found_before", !log.found.empty());
    json.member("reference", log.reference);
    json.key("rounds").array([&] {
      for (const RoundLog& r : log.rounds)
        json.object([&] {
          json.member("candidates", r.candidates.size()).member("best", r.best).member("wall", r.wall);
        });
    });
  }) + "\n";
}

std::string result_line(const BeamLog& log) {
  std::string out = log.kernel + " on " + log.target + ": " + seconds_text(log.seconds);
  if (log.before)
    out += ", " + formatted("%.2f", *log.before / log.seconds) + " times as fast as by hand-coded opts (" +
           seconds_text(*log.before) + ")";
  if (!log.found.empty()) out += ", found before, " + log.found + "\n";
  else
    out += formatted(", %s in %.2f s%s\n", counted(log.candidates(), "candidate").c_str(), log.wall,
                     log.interrupted ? ", interrupted: the best so far" : "");
  return out + "  " + short_opts(log.opts) + "\n  --opts='" + joined(log.opts) + "'\n";
}

std::string rounds_table(const BeamLog& log) {
  if (!log.found.empty()) return kFoundBefore;
  std::string out = formatted("%5s %10s %6s %6s %6s %6s %12s %9s  %s\n", "round", "candidates", "timed", "seen",
                              "refuse", "other", "best", "wall", "best so far");
  size_t number = 0;
  for (const RoundLog& round : log.rounds) {
    auto count = [&](CandidateOutcome v) {
      return size_t(std::ranges::count(round.candidates, v, &CandidateLog::outcome));
    };
    size_t timed = count(CandidateOutcome::Timed), seen = count(CandidateOutcome::Duplicate);
    size_t refused = count(CandidateOutcome::Refused);
    const OptTexts& next = number + 1 < log.rounds.size() ? log.rounds[number + 1].beam.front() : log.opts;
    out += formatted("%5zu %10zu %6zu %6zu %6zu %6zu %12s %7.2f s  ", ++number, round.candidates.size(), timed, seen,
                     refused, round.candidates.size() - timed - seen - refused, seconds_text(round.best).c_str(),
                     round.wall);
    out += short_opts(next) + "\n";
  }
  return out;
}

std::string explanation(const BeamLog& log) {
  if (!log.found.empty()) return kFoundBefore;
  std::string out;
  double last = 0;
  for (size_t n = 1; n <= log.opts.size(); n++) {
    OptTexts prefix(log.opts.begin(), log.opts.begin() + long(n));
    for (const RoundLog& round : log.rounds) {
      auto it = std::ranges::find(round.candidates, prefix, &CandidateLog::opts);
      if (it == round.candidates.end() || it->outcome != CandidateOutcome::Timed) continue;
      std::vector<const CandidateLog*> others;
      for (const CandidateLog& c : round.candidates)
        if (c.outcome == CandidateOutcome::Timed && &c != &*it) others.push_back(&c);
      std::ranges::stable_sort(others, {}, &CandidateLog::seconds);
      size_t rank = 1 + size_t(std::ranges::count_if(others, [&](auto* c) { return c->seconds < it->seconds; }));
      out += formatted("  %zu. %-24s %12s", n, short_opt(prefix.back()).c_str(), seconds_text(it->seconds).c_str());
      if (last > 0) out += formatted(", %.2f times as fast as without it", last / it->seconds);
      out += formatted(", number %zu of %zu timed\n", rank, others.size() + 1);
      if (!others.empty())
        out += "       the next best: " + short_opts(others.front()->opts) + ", " +
               seconds_text(others.front()->seconds) + "\n";
      last = it->seconds;
      break;
    }
  }
  if (out.empty()) return "  no opts, or those of the hand-coded optimizer: nothing that was tried was faster\n";
  return out;
}

}  // namespace tgc
