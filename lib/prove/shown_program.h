// ShownProgram: a Python program that shows the wrong value of a refuted rule or rewrite with a tinygrad (tgc prove
// --program).
#pragma once
#include <string>

#include "lib/support/json_writer.h"

namespace tgc {

struct ShownProgram {
  std::string file = {}, printed = {};  // the program's file, and its output; empty if there is no program
  std::string why = {};  // the reason why there is no program; empty if none was asked for
  // Returns a line for a report; "" if no program was asked for.
  std::string text() const {
    if (!file.empty()) return "  program: " + file + " prints " + printed + "\n";
    return why.empty() ? "" : "  no program: " + why + "\n";
  }
  void add_members(JsonWriter& json) const {
    if (!file.empty()) json.member("program", file).member("printed", printed);
    if (!why.empty()) json.member("no_program", why);
  }
};

}  // namespace tgc
