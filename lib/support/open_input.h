// Inputs that a command opens more than once: to see what they hold, then to read them, sometimes twice.
#pragma once
#include <string>

namespace tgc {

// Opens a file to be read: a descriptor, which the caller closes; -1 with errno where that fails. What can be read only
// once, a pipe such as `<(zcat graph.gz)` or a FIFO, is copied into a file without a name when it is first opened, and
// every opening of that path reads the copy from its beginning. Any thread may call it.
int open_input(const std::string& path);

}  // namespace tgc
