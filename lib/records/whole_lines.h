// Reads the complete lines of a recording, one line per record. If the recording was interrupted, its last line is
// incomplete: the line is dropped with a warning, and the command ends with exit code 2, because part of the input was
// not read.
#pragma once
#include <optional>
#include <string>

#include "lib/records/input_file.h"

namespace tgc {

// Reads the next line of `lines` into `text`. Returns false at the end of the file and before an incomplete last line;
// an incomplete line also stores a warning in `cut`. `name` is the file's name in the warning.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// True if this process read a file that ends within a record.
bool input_was_cut();

}  // namespace tgc
