// Reads rewrites.pkl, the graph rewrites that tinygrad 0.12.0 to 0.14.0 store with VIZ=1 or TRACK_MATCH_STATS=2, as a
// recording: golden records of kernels and tensor graphs, with stages, matches of rules, sources and launch facts. The
// result is that of `tinygrad_export.py --viz`, but needs no tinygrad. Nothing in the file is executed.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// Returns true if a file that begins with `head`, at least 100 bytes of the file, looks like a rewrites.pkl.
bool looks_like_rewrites(std::string_view head);

class RewriteTrace {
 public:
  // Parses the bytes of a rewrites.pkl. Returns an error if they are malformed, or if the numbers of ops fit no known
  // version of tinygrad, or several that read them differently. `file` is the file's name in messages.
  static Result<std::unique_ptr<RewriteTrace>> read(std::string pickle, const std::string& file);
  ~RewriteTrace();

  // Returns the next line of the recording, with its line end: the header, then one record per kernel or tensor graph;
  // an empty text at the end. Skips a record that cannot be made. At the end, returns an error if there was no record.
  Result<std::string> next_line();

 private:
  struct State;
  explicit RewriteTrace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns true for the names of classes and functions that profile.pkl and rewrites.pkl may contain as data. A pickle
// with another name, such as a pickle of another program, is refused.
bool is_tinygrad_name(std::string_view module, std::string_view name);

}  // namespace tgc
