// The lines of a recording, one a record, as far as they are whole: a program that was ended while it wrote, or a copy
// that broke off, leaves a last one that is not. What came before it is used, with a warning; and as part of the input
// was not read, a command that met it ends with exit code 2, whatever the rest said.
#pragma once
#include <optional>
#include <string>

#include "lib/text/input_file.h"

namespace tgc {

// The next line of `lines`, into `text`; false at the end, also where the file ends within a record: then `cut` says
// what to warn of, and `name` is what it calls the file.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// Whether this process met a file that ends within a record.
bool input_was_cut();

}  // namespace tgc
