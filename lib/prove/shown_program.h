// ShownProgram: a Python program that makes an installed tinygrad compute the wrong value of a rule or rewrite (`tgc
// prove --program`).
#pragma once
#include <string>

#include "lib/support/json_writer.h"

namespace tgc {

struct ShownProgram {
  std::string program_file = {}, printed_text = {};  // the program's file, and its output; empty if there is no program
  bool is_rule_alone = false;       // the program only applies the rule, because no whole kernel shows a wrong value
  std::string missing_reason = {};
  // Returns a line for a report; "" if there is neither a program nor a reason why not.
  std::string text() const {
    const char* kind = is_rule_alone ? "this rule alone changes the value; tinygrad computes the whole kernel rightly"
                                     : "tinygrad computes this kernel wrongly";
    if (!program_file.empty()) return "  program: " + program_file + " prints " + printed_text + " (" + kind + ")\n";
    return missing_reason.empty() ? "" : "  no program: " + missing_reason + "\n";
  }
  void add_members(JsonWriter& json) const {
    if (!program_file.empty()) json.member("program", program_file).member("printed", printed_text);
    if (!program_file.empty()) json.member("shows", is_rule_alone ? "rule" : "kernel");
    if (!missing_reason.empty()) json.member("no_program", missing_reason);
  }
};

}  // namespace tgc
