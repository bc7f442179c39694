#include "lib/beam/beam_log.h"

#include <algorithm>
#include <cmath>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

namespace {

constexpr const char* kFoundBefore = "  found before: --anew searches again, and has rounds to tell of\n";

// Returns a text such as "UPCAST 0 4" or "UNROLL 0 all".
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

size_t BeamLog::num_with_outcome(CandidateOutcome outcome) const {
  size_t out = 0;
  for (const RoundLog& r : rounds) out += size_t(std::ranges::count(r.candidates, outcome, &CandidateLog::outcome));
  return out;
}

size_t BeamLog::num_candidates() const {
  size_t out = 0;
  for (const RoundLog& round : rounds) out += round.candidates.size();
  return out;
}

std::string make_enumeration_json(const BeamLog& log) {
  return json_object([&](JsonWriter& json) {
    json.member("kernel", log.kernel).member("target", log.target).member("key", sha256_hex(log.key));
    json.key("rounds").array([&] {
      for (const RoundLog& round : log.rounds)
        json.object([&] {
          json.member("from", round.beam_opts.front()).member("beam", round.beam_opts);
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
    json.member("key", sha256_hex(log.key)).member("width", log.beam_width).member("opts", log.opts);
    json.member("seconds", log.kernel_seconds).member("before", log.hand_coded_seconds);
    json.member("before_opts", log.hand_coded_opts);
    json.member("candidates", log.num_candidates()).member("timed", log.num_with_outcome(CandidateOutcome::Timed));
    json.member("wall", log.wall_seconds).member("interrupted", log.was_interrupted).member("resumed", log.num_resumed);
    json.member("found_before", !log.found_time_utc.empty());
    json.member("reference", log.result_origin);
    if (!log.function_name.empty()) json.member("function", log.function_name);
    if (!log.applying_pipeline.empty()) json.member("applied_by", log.applying_pipeline);
    json.key("rounds").array([&] {
      for (const RoundLog& r : log.rounds)
        json.object([&] {
          json.member("candidates", r.candidates.size()).member("best", r.best_seconds).member("wall", r.wall_seconds);
        });
    });
  }) + "\n";
}

std::string result_line(const BeamLog& log) {
  std::string out = log.kernel + " on " + log.target + ": " + seconds_text(log.kernel_seconds);
  if (log.hand_coded_seconds)
    out += ", " + formatted("%.2f", *log.hand_coded_seconds / log.kernel_seconds) +
           " times as fast as by hand-coded opts (" + seconds_text(*log.hand_coded_seconds) + ")";
  if (!log.found_time_utc.empty()) out += ", found before, " + log.found_time_utc + "; --anew searches again\n";
  else
    out += formatted(", %s in %.2f s%s\n", count_text(log.num_candidates(), "candidate").c_str(), log.wall_seconds,
                     log.was_interrupted ? ", interrupted: the best so far" : "");
  if (log.found_time_utc.empty() && log.num_candidates() == 0)
    out += "  no opt applies to these sizes; BEAM_PADTO=1 also tries to pad axes\n";
  return out + "  " + short_opts(log.opts) + "\n  --opts='" + opts_as_text(log.opts) + "'\n" +
         (log.applying_pipeline.empty() ? "" : "  applied by " + log.applying_pipeline + "\n");
}

std::string opts_for_program(std::span<const ProgramOpts> kernels) {
  if (kernels.empty()) return "";
  std::string out = "import atexit\n"
                    "import tinygrad.codegen as codegen\n"
                    "from dataclasses import replace\n"
                    "from tinygrad import helpers\n"
                    "from tinygrad.codegen.opt import Opt, OptOps\n"
                    "from tinygrad.uop.ops import KernelInfo\n"
                    "def use_opts(opts, plain=codegen.apply_opts):\n"
                    "  unused = set(opts)\n"
                    "  def apply_opts(ast, *args, **kwargs):\n"
                    "    made = plain(ast, *args, **kwargs)\n"
                    "    name = helpers.ansistrip(made.arg.name)\n"
                    "    if ast.tag is not None or name not in opts: return made\n"
                    "    unused.discard(name)\n"
                    "    info = replace(ast.arg or KernelInfo(), opts_to_apply=tuple(opts[name]))\n"
                    "    return plain(ast.replace(arg=info), *args, **kwargs)\n"
                    "  codegen.apply_opts = apply_opts\n"
                    "  if hasattr(helpers, 'PARALLEL'): helpers.PARALLEL.value = 0  # compile here\n"
                    "  atexit.register(lambda: unused and print('opts not used: no kernel is named', "
                    "*sorted(unused)))\n"
                    "use_opts({\n";
  for (const ProgramOpts& k : kernels) out += "  " + json_string(k.function_name) + ": " + k.opts + ",\n";
  return out + "})\n";
}

std::string rounds_table(const BeamLog& log) {
  if (!log.found_time_utc.empty()) return kFoundBefore;
  std::string out = formatted("%5s %10s %6s %6s %6s %6s %12s %9s  %s\n", "round", "candidates", "timed", "seen",
                              "refuse", "other", "best", "wall", "best so far");
  size_t number = 0;
  for (const RoundLog& round : log.rounds) {
    auto count = [&](CandidateOutcome v) {
      return size_t(std::ranges::count(round.candidates, v, &CandidateLog::outcome));
    };
    size_t timed = count(CandidateOutcome::Timed), seen = count(CandidateOutcome::Duplicate);
    size_t refused = count(CandidateOutcome::Refused);
    const OptTexts& next = number + 1 < log.rounds.size() ? log.rounds[number + 1].beam_opts.front() : log.opts;
    out += formatted("%5zu %10zu %6zu %6zu %6zu %6zu %12s %7.2f s  ", ++number, round.candidates.size(), timed, seen,
                     refused, round.candidates.size() - timed - seen - refused,
                     seconds_text(round.best_seconds).c_str(), round.wall_seconds);
    out += short_opts(next) + "\n";
  }
  return out;
}

std::string explanation_text(const BeamLog& log) {
  if (!log.found_time_utc.empty()) return kFoundBefore;
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
      std::ranges::stable_sort(others, {}, &CandidateLog::fastest_seconds);
      size_t rank =
          1 + size_t(std::ranges::count_if(others, [&](auto* c) { return c->fastest_seconds < it->fastest_seconds; }));
      out += formatted("  %zu. %-24s %12s", n, short_opt(prefix.back()).c_str(),
                       seconds_text(it->fastest_seconds).c_str());
      if (last > 0) out += formatted(", %.2f times as fast as without it", last / it->fastest_seconds);
      out += formatted(", number %zu of %zu timed\n", rank, others.size() + 1);
      if (!others.empty())
        out += "       the next best: " + short_opts(others.front()->opts) + ", " +
               seconds_text(others.front()->fastest_seconds) + "\n";
      last = it->fastest_seconds;
      break;
    }
  }
  if (out.empty()) return "  no opts, or those of the hand-coded optimizer: nothing that was tried was faster\n";
  return out;
}

namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 90, kRight = 20, kTop = 50, kBottom = 50;

std::string escape_xml(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string svg_label(double x, double y, const char* anchor, const std::string& text) {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escape_xml(text) + "</text>\n";
}

std::string svg_horizontal_line(double y, const char* style) {
  return formatted("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" %s/>\n", kLeft, kWidth - kRight, y, y, style);
}

class TimeScale {
 public:
  explicit TimeScale(const BeamLog& log) {
    auto take = [&](double s) { if (s > 0 && std::isfinite(s)) low_ = std::min(low_, s), high_ = std::max(high_, s); };
    for (const RoundLog& round : log.rounds)
      for (const CandidateLog& c : round.candidates)
        if (c.outcome == CandidateOutcome::Timed) take(c.fastest_seconds);
    take(log.kernel_seconds);
    take(log.hand_coded_seconds.value_or(0));
    if (low_ > high_) low_ = 1e-6, high_ = 1;
    low_ *= 0.9, high_ *= 1.1;
  }
  double y(double s) const {
    double part = std::log(std::clamp(s, low_, high_) / low_) / std::log(high_ / low_);
    return kHeight - kBottom - part * (kHeight - kTop - kBottom);
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10)
      for (double first : {1.0, 2.0, 5.0})
        if (double s = first * power; s >= low_ && s <= high_) out.push_back(s);
    return out;
  }

 private:
  double low_ = INFINITY, high_ = 0;
};

}  // namespace

std::string draw_beam_plot(const BeamLog& log) {
  TimeScale scale(log);
  double step = (kWidth - kLeft - kRight) / double(std::max<size_t>(1, log.rounds.size()));
  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += svg_label(kLeft, 24, "start", log.kernel + " on " + log.target + ": " + seconds_text(log.kernel_seconds));
  for (double s : scale.ticks()) {
    out += svg_horizontal_line(scale.y(s), "stroke=\"#ddd\"");
    out += svg_label(kLeft - 8, scale.y(s) + 4, "end", seconds_text(s));
  }
  std::string path;
  for (size_t r = 0; r < log.rounds.size(); r++) {
    const RoundLog& round = log.rounds[r];
    double begin = kLeft + double(r) * step, count = double(std::max<size_t>(1, round.candidates.size()));
    for (size_t i = 0; i < round.candidates.size(); i++)
      if (const CandidateLog& c = round.candidates[i]; c.outcome == CandidateOutcome::Timed)
        out += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#69c\"><title>%s</title></circle>\n",
                         begin + (double(i) + 0.5) / count * step, scale.y(c.fastest_seconds),
                         seconds_text(c.fastest_seconds).c_str());
    path += formatted("%s%.1f %.1f L%.1f %.1f", r ? " L" : "M", begin, scale.y(round.best_seconds), begin + step,
                      scale.y(round.best_seconds));
    out += svg_label(begin + step / 2, kHeight - 20, "middle",
                     "round " + std::to_string(r + 1) + ", " + formatted("%.2f s", round.wall_seconds));
  }
  out += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#c33\" stroke-width=\"2\"/>\n";
  if (log.hand_coded_seconds) {
    out += svg_horizontal_line(scale.y(*log.hand_coded_seconds), "stroke=\"#393\" stroke-dasharray=\"6 4\"");
    out += svg_label(kWidth - kRight, scale.y(*log.hand_coded_seconds) - 5, "end", "hand-coded opts");
  }
  return out + "</svg>\n";
}

}  // namespace tgc
