// Reads rewrites.pkl, which tinygrad 0.12.0 to 0.14.0 store with VIZ=1 or TRACK_MATCH_STATS=2, as golden records,
// without tinygrad. Nothing in the file is executed.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// Returns true if `head`, at least the first 100 bytes of a file, looks like a rewrites.pkl.
bool is_start_of_rewrites(std::string_view head);

class RewriteTrace {
 public:
  // Reads a rewrites.pkl. Fails if it is malformed, or if its numbers of ops fit no known version of tinygrad, or
  // several that read them differently. `file` is for messages.
  static Result<std::unique_ptr<RewriteTrace>> read(std::string pickle, const std::string& file);
  ~RewriteTrace();

  // Returns the next line of the recording, with its line end: the header, then a record per kernel or tensor graph; ""
  // at the end. Skips records that cannot be made. Fails at the end if there was no record.
  Result<std::string> next_line();

 private:
  struct State;
  explicit RewriteTrace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns true for the names of classes and functions that profile.pkl and rewrites.pkl may contain as data. A pickle
// with another name is refused.
bool is_tinygrad_name(std::string_view module, std::string_view name);

}  // namespace tgc
