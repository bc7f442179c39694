// Reads the lines of a recording, one per record, up to the last complete one. An interrupted writer or copy leaves an
// incomplete last line. The complete records are used, with a warning, and the command ends with exit code 2 regardless
// of its other results, because part of the input was not read.
#pragma once
#include <optional>
#include <string>

#include "lib/text/input_file.h"

namespace tgc {

// Reads the next line of `lines` into `text`; false at the end, even if the file ends within a record: then `cut`
// receives the warning. `name` names the file in it.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// True if this process read a file that ends within a record.
bool input_was_cut();

}  // namespace tgc
