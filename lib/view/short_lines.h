#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tgc {

// Returns the end of the name, such as "c12", that begins at `i` in a pyrender text; 0 if no name begins there.
size_t node_name_end(std::string_view text, size_t i);

// Replaces the number in each name of a pyrender line by its distance from that of the name that the line, or the
// nearest line before, defines: "c12 = c11+c3" becomes "c0 = c1+c9", which compresses better. The number of the defined
// name becomes its distance from the next number after the previously defined name. Larger numbers remain unchanged.
class RelativeNames {
 public:
  // Returns the next line, without a newline.
  std::string line(std::string_view text);

 private:
  size_t defined_number_ = 0, next_number_ = 0;
};

// Shortens long literals of strings and bytes to their beginning and a part of their hash, so that different literals
// remain different. Does not shorten strings with color codes, because these are names of kernels.
std::string shorten_literals(std::string_view text);

}  // namespace tgc
