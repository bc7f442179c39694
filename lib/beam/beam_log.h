// What a search of one kernel did, round by round, for reports and for files.
#pragma once
#include <cstdio>

#include "lib/beam/candidate.h"

namespace tgc {

// Returns the text that printf would print, of at most 511 bytes.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

struct CandidateLog {
  OptTexts opts;
  Fate fate = Fate::Timed;
  double seconds = 0;  // of one that was timed
  std::string why;     // of one that was refused or failed
  double ops = 0;      // floating-point operations
  std::string code;    // what its code is known by: see Candidate
};

struct RoundLog {
  std::vector<OptTexts> beam;  // what it began with, the best first
  std::vector<CandidateLog> candidates;
  double best = 0, wall = 0;   // seconds: the fastest kernel after it; since the search began
};

struct BeamLog {
  std::string kernel, target, device;  // the device's name
  Sha256 key{};                        // tinygrad's key of the graph that was searched
  int64_t width = 0, estimate = 1;
  std::vector<RoundLog> rounds;
  OptTexts opts;                       // the result
  double seconds = 0;                  // of it
  std::optional<double> before;        // of the kernel that the hand-coded optimizer makes; none: not measured
  OptTexts before_opts;
  double wall = 0;                     // of the whole search
  bool interrupted = false;            // by the user, or by a budget: the best so far
  std::string found;                   // when, of a result that an earlier search has left; then there are no rounds
  size_t resumed = 0;                  // candidates whose times an interrupted search had left
  std::string reference;               // what the result was compared with; empty: with nothing

  size_t count(Fate fate) const;
  size_t candidates() const;
};

// For programs: one line each. The rounds of a search, and its result.
std::string enumeration_json(const BeamLog& log);
std::string result_json(const BeamLog& log);
// For people: the result in a line; the rounds as a table; why each of the opts was taken.
std::string result_line(const BeamLog& log);
std::string rounds_table(const BeamLog& log);
std::string explanation(const BeamLog& log);
std::string seconds_text(double seconds);  // "12.34 us"

}  // namespace tgc
