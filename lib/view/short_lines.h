// Shortens the lines of pyrender texts, so that pages are small.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tgc {

// Returns the end of the name of a line, such as "c12", that begins at `i` in a pyrender text; 0: none begins there.
size_t name_end(std::string_view text, size_t i);

// Replaces the number in each name of a pyrender line by its distance from the number of the name that the line, or
// else the nearest line before, defines: "c12 = c11+c3" becomes "c0 = c1+c9", which compresses better. In the defined
// name itself, the number becomes the distance from the number that follows the one defined before. Numbers that are
// larger remain unchanged.
class RelativeNames {
 public:
  // Returns the next line, which has no newline.
  std::string line(std::string_view text);

 private:
  size_t own_ = 0, next_ = 0;  // own_: number of the name that was defined last; next_: own_ + 1
};

// Shortens long literals of strings and bytes, such as the source and the binary in a PROGRAM, to their beginning and a
// part of their hash, so that different literals remain different. Does not shorten strings with colour codes, because
// these are names of kernels.
std::string with_short_literals(std::string_view text);

}  // namespace tgc
