#include "lib/records/whole_lines.h"

#include <atomic>

#include "lib/text/json_scan.h"

namespace tgc {
namespace {

std::atomic<bool> was_cut{false};

bool is_whole(const std::string& text) {
  if (!text.starts_with('{')) return true;  // the line is not a record; the record parser reports this error
  return bool(catch_failures([&] {
    JsonScanner in(text, "", 1);
    in.skip();
    return true;
  }));
}

}  // namespace

Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut) {
  auto read = lines.next(text);
  if (!read && !lines.cut()) return read;
  if (read && (!*read || lines.line_ended() || is_whole(text))) return read;
  was_cut = true;
  cut = Diag{.message = "the file is cut short: the record of line " + std::to_string(lines.line()) +
                        " is lost, those before it are whole",
             .file = name};
  return false;
}

bool input_was_cut() { return was_cut; }

}  // namespace tgc
