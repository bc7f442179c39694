// The results of searches in a SQLite file: a row for each kernel, target, device and width. FORMATS in README.md
// describes the tables.
#pragma once
#include <map>

#include "lib/beam/beam_log.h"
#include "lib/beam/database.h"

namespace tgc {

struct BeamResult {
  Sha256 graph_key{};          // tinygrad's key of the searched graph
  std::string kernel, target, device;
  int64_t beam_width = 0, estimate = 1;
  std::string opts;           // "[Opt(...), ...]"
  double kernel_seconds = 0;  // seconds of the kernel; 0: unknown
  std::optional<double> hand_coded_seconds;
  std::string reference_device;  // the device that computed the expected results; empty: not compared
  // when the result was stored, in UTC: "2026-11-22 19:00:00"; store_result() fills in an empty one
  std::string stored_time_utc;
  std::optional<std::string> measured_json;  // measured_text() of an interrupted search; nullopt: it finished

  static BeamResult of(const BeamLog& log);
};

class BeamResults {
 public:
  // Returns TGC_BEAM_DB, else beam.db in the folder of the compile cache.
  static std::string default_path();
  // Opens the file. Throws Failure if the file cannot be opened, or is not a file of results.
  BeamResults(const std::string& path, Database::Mode mode);

  // Stores the result, unless the file has one with a time for the same kernel, target, device and width, and the new
  // result has no time or is not faster. Drops the measurements of an interrupted search if the stored or the new
  // result comes from a finished search.
  void store_result(const BeamResult& result);
  // Returns the fastest result for this graph, target and device from searches with at least `width`.
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
  Database database_;
};

// Merges files of results into one. Keeps the fastest result for each kernel, target, device and width. Errors: an
// unreadable or unwritable file.
Status merge_results(const std::vector<std::string>& from, const std::string& to);

std::string results_text(const std::vector<BeamResult>& results);
std::string results_json(const std::vector<BeamResult>& results);

// The classified candidates of an interrupted search, from which the next search resumes. The key is joined_opts().
using MeasuredCandidates = std::map<std::string, CandidateLog>;

std::string measured_text(const BeamLog& log);  // returns all classified candidates as JSON
MeasuredCandidates read_measurements(std::string_view text);  // reads measured_text; throws Failure

}  // namespace tgc
