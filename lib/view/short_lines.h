#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tgc {

// Returns the end of a name, such as "c12", that begins at `i` in a pyrender text; 0: none.
size_t name_end(std::string_view text, size_t i);

// Replaces the number in each name of a pyrender line by its distance from that of the name that the line, or the
// nearest line before, defines: "c12 = c11+c3" becomes "c0 = c1+c9", which compresses better. In the defined name, it
// is the distance from the number after the one defined before. Larger numbers remain unchanged.
class RelativeNames {
 public:
  // Returns the next line, without a newline.
  std::string line(std::string_view text);

 private:
  size_t defined_number_ = 0, next_number_ = 0;
};

// Shortens long literals of strings and bytes to their beginning and a part of their hash, so that different ones
// remain different. Does not shorten strings with colour codes: names of kernels.
std::string shorten_literals(std::string_view text);

}  // namespace tgc
