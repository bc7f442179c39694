// Shortens the lines of pyrender texts, so that pages are small.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tgc {

// Returns the end of the name of a line, such as "c12", that begins at `i` in a pyrender text; 0: none begins there.
size_t name_end(std::string_view text, size_t i);

// Replaces the number of each name in lines of a pyrender text by the distance from the name that the line defines,
// because the result compresses better: "c12 = c11+c3" becomes "c0 = c1+c9". The name that a line defines becomes the
// distance from the number after that of the line before. Names that later lines define stay.
class NearNames {
 public:
  // Returns the next line, which has no newline.
  std::string line(std::string_view text);

 private:
  size_t own_ = 0, next_ = 0;  // own_: number of the name that the current line defines; next_: own_ + 1
};

// Shortens long literals of strings and bytes, such as the source and the binary in the last graph of a program: a part
// of the literal stays, and a part of its hash is added, so that different literals stay different. Strings with
// colours stay, because they are names of kernels.
std::string with_short_literals(std::string_view text);

}  // namespace tgc
