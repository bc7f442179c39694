#include "apps/tgc/dump_output.h"

#include <unistd.h>

#include <filesystem>

namespace tgc {

namespace fs = std::filesystem;

Status DumpOutput::write(const std::vector<DumpText>& texts) {
  written_ += texts.size();
  return to_.empty() ? print_texts(texts) : write_files(texts);
}

Status DumpOutput::release() {
  if (alone_) return write_file(to_, *alone_);
  if (!list_.empty()) out_.add(list_.size() == 1 ? list_[0].text : json_document(list_));
  return out_.release();
}

Status DumpOutput::print_texts(const std::vector<DumpText>& texts) {
  for (const DumpText& t : texts) {
    if (t.row->output && t.row->output->is_bytes && isatty(STDOUT_FILENO))
      return Diag{.message = "'" + std::string(t.row->name) + "' is binary and is not printed to a terminal",
                  .expected = "-o FILE, or a pipe"};
    if (json_) list_.push_back(t);
    else if (texts.size() > 1) out_.add("# " + t.graph + ": " + std::string(t.row->name) + "\n" + t.text);
    else out_.add(t.text);
  }
  return Unit{};
}

Status DumpOutput::write_files(const std::vector<DumpText>& texts) {
  std::error_code error;
  bool many = texts.size() != 1 || !first_;
  if (first_) into_folder_ = many || to_.back() == '/' || fs::is_directory(to_, error);
  first_ = false;
  if (!into_folder_ && many)
    return Diag{.message = "cannot write several texts to one file",
                .file = to_,
                .expected = "a folder (end its name with '/')"};
  if (!into_folder_) return alone_ = texts[0].text, Unit{};
  fs::create_directories(to_, error);
  if (error) return Diag{.message = "cannot make the folder: " + error.message(), .file = to_};
  std::map<std::string, std::string> stems;  // stems of file names by graph; graphs of one name get different stems
  for (const DumpText& t : texts) {
    auto [stem, is_new] = stems.try_emplace(t.graph);
    if (is_new) stem->second = stems_.distinct(file_name_of(t.graph));
    if (auto status = write_file((fs::path(to_) / t.file_name(stem->second)).string(), t.text); !status) return status;
  }
  return Unit{};
}

}  // namespace tgc
