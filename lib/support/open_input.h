// Opens input files so that a command can read an input more than once: first to detect its format, then to parse it.
#pragma once
#include <string>

namespace tgc {

// Opens `path` for reading. Returns a descriptor, which the caller closes, or -1 and errno. A pipe or FIFO, such as
// `<(zcat graph.gz)`, can be read only once: the first call copies it to an unnamed temporary file, and every call
// opens that copy at its beginning. Thread-safe.
int open_input(const std::string& path);

}  // namespace tgc
