// What searches have found, in a SQLite file: a row for each kernel, target, device and width. FORMATS of README.md
// describes the table.
#pragma once

#include "lib/beam/beam_log.h"
#include "lib/beam/database.h"

namespace tgc {

struct BeamResult {
  Sha256 key{};          // tinygrad's of the graph that was searched
  std::string kernel, target, device;
  int64_t width = 0, estimate = 1;
  std::string opts;      // "[Opt(...), ...]"
  double seconds = 0;    // 0: nobody has told
  std::optional<double> before;
  std::string reference, made;  // what it was compared with; when it was found: "2026-11-22 19:00:00"
  std::optional<std::string> measured;  // by a search that was interrupted (measured.h); none where it came to its end

  static BeamResult of(const BeamLog& log);
};

class BeamResults {
 public:
  // TGC_BEAM_DB, else beam.db in the folder of the compile cache.
  static std::string default_path();
  // Throws Failure: no database, or another program's.
  BeamResults(const std::string& path, Database::Mode mode);

  // Keeps it, unless what is there of the same kernel, target, device and width is as fast. When either search came to
  // its end, there is nothing to go on with.
  void put(const BeamResult& result);
  // The fastest of that graph, target and device that was searched with `width` or more.
  std::optional<BeamResult> find(const Sha256& key, const std::string& target, const std::string& device,
                                 int64_t width);
  // What a search with this very width found.
  std::optional<BeamResult> of_search(const Sha256& key, const std::string& target, const std::string& device,
                                      int64_t width);
  std::vector<BeamResult> list();
  // Removes those whose kernel, target or key's beginning is `what`; how many there were.
  size_t remove(const std::string& what);

 private:
  std::string select(const char* rest);
  Database database_;
};

// Joins files of results into one; of those of one kernel, target, device and width the fastest stays. Errors: a file
// that cannot be read or written.
Status merge_results(const std::vector<std::string>& from, const std::string& to);

std::string results_text(const std::vector<BeamResult>& results);
std::string results_json(const std::vector<BeamResult>& results);

}  // namespace tgc
