// File names made of what an input says: ids of records, names of kernels. Those are data, not paths.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace tgc {

// A name for a file in whatever folder, from `name`: at most 170 bytes, no separator, no control or bidirectional
// character, no blank, nothing that is no UTF-8, no "." or "-" in front, never empty. A name that is all that already
// stays as it is; another one is made so and gets eight digits of its hash, so that different names give different
// files.
std::string file_name_of(std::string_view name);

// Paths that one run has written to: two results never go to the same file unsaid.
class TakenPaths {
 public:
  // Whether it was free until now.
  bool take(const std::string& path) { return taken_.insert(path).second; }
  // `stem` or, when that is taken, "STEM~2", "STEM~3", ...; taken from now on.
  std::string distinct(const std::string& stem);

 private:
  std::set<std::string> taken_;
};

}  // namespace tgc
