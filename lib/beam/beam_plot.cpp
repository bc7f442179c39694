#include "lib/beam/beam_plot.h"

#include <algorithm>
#include <cmath>

#include "lib/support/counted.h"

namespace tgc {
namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 90, kRight = 20, kTop = 50, kBottom = 50;

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) + "</text>\n";
}

std::string across(double y, const char* style) {
  return formatted("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" %s/>\n", kLeft, kWidth - kRight, y, y, style);
}

// The logarithmic time axis, from the fastest (bottom) to the slowest (top).
class Scale {
 public:
  explicit Scale(const BeamLog& log) {
    auto take = [&](double s) { if (s > 0 && std::isfinite(s)) low_ = std::min(low_, s), high_ = std::max(high_, s); };
    for (const RoundLog& round : log.rounds)
      for (const CandidateLog& c : round.candidates)
        if (c.outcome == CandidateOutcome::Timed) take(c.seconds);
    take(log.seconds);
    take(log.before.value_or(0));
    if (low_ > high_) low_ = 1e-6, high_ = 1;
    low_ *= 0.9, high_ *= 1.1;
  }
  double y(double s) const {
    double part = std::log(std::clamp(s, low_, high_) / low_) / std::log(high_ / low_);
    return kHeight - kBottom - part * (kHeight - kTop - kBottom);
  }
  // ticks at 1, 2 and 5 times each power of ten in the range
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

std::string beam_plot(const BeamLog& log) {
  Scale scale(log);
  double step = (kWidth - kLeft - kRight) / double(std::max<size_t>(1, log.rounds.size()));
  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += label(kLeft, 24, "start", log.kernel + " on " + log.target + ": " + seconds_text(log.seconds));
  for (double s : scale.ticks()) {
    out += across(scale.y(s), "stroke=\"#ddd\"");
    out += label(kLeft - 8, scale.y(s) + 4, "end", seconds_text(s));
  }
  std::string path;
  for (size_t r = 0; r < log.rounds.size(); r++) {
    const RoundLog& round = log.rounds[r];
    double begin = kLeft + double(r) * step, count = double(std::max<size_t>(1, round.candidates.size()));
    for (size_t i = 0; i < round.candidates.size(); i++)
      if (const CandidateLog& c = round.candidates[i]; c.outcome == CandidateOutcome::Timed)
        out += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"#69c\"><title>%s</title></circle>\n",
                         begin + (double(i) + 0.5) / count * step, scale.y(c.seconds), seconds_text(c.seconds).c_str());
    path += formatted("%s%.1f %.1f L%.1f %.1f", r ? " L" : "M", begin, scale.y(round.best), begin + step,
                      scale.y(round.best));
    out += label(begin + step / 2, kHeight - 20, "middle",
                 "round " + std::to_string(r + 1) + ", " + formatted("%.2f s", round.wall));
  }
  out += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#c33\" stroke-width=\"2\"/>\n";
  if (log.before) {
    out += across(scale.y(*log.before), "stroke=\"#393\" stroke-dasharray=\"6 4\"");
    out += label(kWidth - kRight, scale.y(*log.before) - 5, "end", "hand-coded opts");
  }
  return out + "</svg>\n";
}

}  // namespace tgc
