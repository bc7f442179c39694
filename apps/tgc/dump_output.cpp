#include "apps/tgc/dump_output.h"

#include <unistd.h>

#include <filesystem>

namespace tgc {

namespace fs = std::filesystem;

Status DumpOutput::write(const std::vector<DumpText>& texts) {
  num_written_ += texts.size();
  return output_path_.empty() ? print_texts(texts) : write_files(texts);
}

Status DumpOutput::release() {
  if (output_file_text_) return write_file(output_path_, *output_file_text_);
  if (!json_texts_.empty())
    held_output_.hold_text(json_texts_.size() == 1 ? json_texts_[0].text : make_json_document(json_texts_));
  return held_output_.release();
}

Status DumpOutput::print_texts(const std::vector<DumpText>& texts) {
  for (const DumpText& t : texts) {
    if (t.row->output && t.row->output->is_binary && isatty(STDOUT_FILENO))
      return Diag{.message = "'" + std::string(t.row->name) + "' is binary and is not printed to a terminal",
                  .expected = "-o FILE, or a pipe"};
    if (is_json_) json_texts_.push_back(t);
    else if (texts.size() > 1)
      held_output_.hold_text("# " + t.graph_name + ": " + std::string(t.row->name) + "\n" + t.text);
    else held_output_.hold_text(t.text);
  }
  return Unit{};
}

Status DumpOutput::write_files(const std::vector<DumpText>& texts) {
  std::error_code error;
  bool many = texts.size() != 1 || !is_first_text_;
  if (is_first_text_) writes_folder_ = many || output_path_.back() == '/' || fs::is_directory(output_path_, error);
  is_first_text_ = false;
  if (!writes_folder_ && many)
    return Diag{.message = "cannot write several texts to one file",
                .file = output_path_,
                .expected = "a folder (end its name with '/')"};
  if (!writes_folder_) return output_file_text_ = texts[0].text, Unit{};
  fs::create_directories(output_path_, error);
  if (error) return Diag{.message = "cannot make the folder: " + error.message(), .file = output_path_};
  std::map<std::string, std::string> stems;  // stems of file names by graph; graphs of one name get different stems
  for (const DumpText& t : texts) {
    auto [stem, is_new] = stems.try_emplace(t.graph_name);
    if (is_new) stem->second = file_stems_.make_distinct_path(file_name_of(t.graph_name));
    if (auto status = write_file((fs::path(output_path_) / t.file_name(stem->second)).string(), t.text); !status)
      return status;
  }
  return Unit{};
}

}  // namespace tgc
