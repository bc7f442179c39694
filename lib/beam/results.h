// The results of searches in a SQLite file (FORMATS in README.md).
#pragma once
#include <map>

#include "lib/beam/beam_log.h"
#include "lib/beam/database.h"

namespace tgc {

struct BeamResult {
  Sha256 graph_key{};
  std::string kernel, target, device;
  int64_t beam_width = 0, estimate = 1;
  std::string opts;           // text of opts_as_text()
  double kernel_seconds = 0;  // 0: unknown
  std::optional<double> hand_coded_seconds;
  std::string result_origin;  // device that computed the expected results, or the file that the result comes from
  // In UTC. store_result() stores the current time instead of an empty text.
  std::string stored_time_utc;
  std::optional<std::string> measured_json;  // measurements_json() of an interrupted search; else nullopt

  static BeamResult from_log(const BeamLog& log);
};

class BeamResults {
 public:
  // Returns the path in TGC_BEAM_DB, else that of beam.db in the folder of the compile cache.
  static std::string default_path();
  // Throws Failure if the file cannot be used. Mode::Write creates a missing folder, file or table.
  BeamResults(const std::string& path, SqliteDatabase::Mode mode);

  // Keeps a stored result of the same kernel, target, device and width that has a time, unless the new result is
  // faster. Measurements of an interrupted search are not kept beside a timed result of a finished search.
  void store_result(const BeamResult& result);
  // Returns the fastest result of the searches whose width is at least `width`. Prefers results that have a time.
  std::optional<BeamResult> find_result(const Sha256& key, const std::string& target, const std::string& device,
                                        int64_t width);
  // Returns the result of the search with exactly this width.
  std::optional<BeamResult> result_of_search(const Sha256& key, const std::string& target, const std::string& device,
                                             int64_t width);
  std::vector<BeamResult> all_results();
  // Removes the results whose kernel or target is `what`, or whose key begins with `what`, at least 8 hexadecimal
  // digits. Returns their number.
  size_t remove_results(const std::string& what);

 private:
  std::string select_query(const char* rest);
  SqliteDatabase database_;
};

// Stores the results of the files `from` in the file `to`, and keeps the fastest result of each search. Fails if a file
// cannot be read or written.
Status merge_results(const std::vector<std::string>& from, const std::string& to);

std::string results_text(const std::vector<BeamResult>& results);
std::string results_json(const std::vector<BeamResult>& results);

// Maps opts_as_text() of a candidate to the candidate's log.
using MeasuredCandidates = std::map<std::string, CandidateLog>;

std::string measurements_json(const BeamLog& log);
MeasuredCandidates read_measurements(std::string_view text);  // reads a measurements_json(); throws Failure

}  // namespace tgc
