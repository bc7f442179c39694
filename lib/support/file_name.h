// Makes safe file names from untrusted names in an input, such as record ids and kernel names.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace tgc {

// Returns `name` as a file name: 1 to 170 bytes of valid UTF-8 without path separators, blanks, control or
// bidirectional characters, and without a leading "." or "-". A name that already fits is returned unchanged. In other
// names, each unfit character becomes "_" and eight digits of the name's hash are appended, so that they stay distinct.
std::string file_name_of(std::string_view name);

// The paths that this run has written to. Used so that one result never silently overwrites another.
class TakenPaths {
 public:
  // Marks `path` as taken. Returns false if it was taken already.
  bool take(const std::string& path) { return taken_.insert(path).second; }
  // Takes and returns the first path of `stem`, "STEM~2", "STEM~3", ... that is not taken yet.
  std::string distinct(const std::string& stem);

 private:
  std::set<std::string> taken_;
};

}  // namespace tgc
