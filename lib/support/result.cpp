#include "lib/support/result.h"

namespace tgc {

std::string Diag::text() const {
  std::string out;
  if (!file.empty()) out += file + ":";
  if (line) out += std::to_string(line) + ":" + (column ? std::to_string(column) + ":" : "");
  if (!out.empty()) out += " ";
  out += message;
  if (!expected.empty()) out += ", expected " + expected;
  if (!context.empty()) out += "\n" + context;
  return out;
}

void throw_check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::string where = file;
  if (auto slash = where.rfind('/'); slash != std::string::npos) where = where.substr(slash + 1);
  throw Failure(
      Diag{"internal error: " + message + " (" + where + ":" + std::to_string(line) + ": " + condition + ")"});
}

}  // namespace tgc
