#pragma once
#include <string>

namespace tgc {

// Opens `path` for reading. Returns a descriptor, which the caller closes, or -1 and errno. A pipe or FIFO can be read
// only once, so the first call copies it to an unnamed temporary file, and every call opens that copy at its beginning.
// Thread-safe.
int open_input_file(const std::string& path);

}  // namespace tgc
