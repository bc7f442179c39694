// Where the texts of a dump go: standard output, a file, or a folder of files KERNEL.NN.STAGE.EXT.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/tgc/terminal.h"
#include "lib/compilation/dump.h"
#include "lib/support/file_name.h"

namespace tgc {

class DumpOutput {
 public:
  // `to` empty, or "-": standard output. With `json` several texts are one JSON document there.
  DumpOutput(const std::string& to, bool json) : to_(to == "-" ? "" : to), json_(json) {}

  // The texts of one graph. Errors: a file that cannot be written, several texts for one file, bytes for a terminal.
  Status write(const std::vector<DumpText>& texts);
  size_t written() const { return written_; }  // texts
  // What goes to standard output, or to one file, appears now, as a whole.
  Status release();

 private:
  Status print_texts(const std::vector<DumpText>& texts);
  Status write_files(const std::vector<DumpText>& texts);
  std::string one_document() const;

  std::string to_;
  bool json_;
  std::vector<DumpText> list_;  // of JSON on standard output: kept, for one text stands alone
  bool first_ = true, into_folder_ = false;
  std::optional<std::string> alone_;  // the text for a file
  TakenPaths stems_;                  // of files in the folder
  size_t written_ = 0;
  HeldOutput out_;
};

}  // namespace tgc
