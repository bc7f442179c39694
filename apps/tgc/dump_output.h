// Writes the texts of `tgc dump` to standard output, a file, or a folder of files KERNEL.NN.STAGE.EXT.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "apps/tgc/terminal.h"
#include "lib/compilation/dump.h"
#include "lib/support/write_file.h"

namespace tgc {

class DumpOutput {
 public:
  // `to` is a file or a folder; empty or "-" means standard output. With `json`, several texts on standard output
  // become one JSON document.
  DumpOutput(const std::string& to, bool json) : output_path_(to == "-" ? "" : to), is_json_(json) {}

  // Adds the texts of one graph. Fails if they cannot be written.
  Status write(const std::vector<DumpText>& texts);
  size_t num_written_texts() const { return num_written_; }
  // Prints the output, or writes the single file. Call this once, after the last graph.
  Status release();

 private:
  Status print_texts(const std::vector<DumpText>& texts);
  Status write_files(const std::vector<DumpText>& texts);

  std::string output_path_;
  bool is_json_;
  // JSON texts for standard output. release() prints a single text unchanged, and several as one document.
  std::vector<DumpText> json_texts_;
  bool is_first_text_ = true, writes_folder_ = false;
  std::optional<std::string> output_file_text_;  // the text for the output file, if `to` is a file
  UsedPaths file_stems_;
  size_t num_written_ = 0;
  HeldOutput held_output_;
};

}  // namespace tgc
