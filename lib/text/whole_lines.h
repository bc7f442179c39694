// Reads the lines of a recording, one per record, up to the last complete line. If the writer was interrupted, the last
// line is incomplete; the complete records are used, with a warning. The command then ends with exit code 2 whatever
// its other results are, because part of the input was not read.
#pragma once
#include <optional>
#include <string>

#include "lib/text/input_file.h"

namespace tgc {

// Reads the next line of `lines` into `text`. Returns false at the end of the file. If the file ends within a record,
// it also stores a warning in `cut`. `name` is the file's name in the warning.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// True if this process read a file that ends within a record.
bool input_was_cut();

}  // namespace tgc
