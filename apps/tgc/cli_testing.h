// Helpers of the command-line tests: running tgc, and a folder for its files.
#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tgc {

struct CommandResult {
  int code;
  std::string out, err;
};

// Returns a folder for the files of this test run, which is removed at the end.
inline const std::filesystem::path& scratch_folder() {
  static struct ScratchFolder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("tgc_cli_test." + std::to_string(getpid()));
    ScratchFolder() { std::filesystem::create_directories(path); }
    ~ScratchFolder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } folder;
  return folder.path;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::string write_scratch_file(const std::string& name, const std::string& text) {
  std::ofstream(scratch_folder() / name, std::ios::binary) << text;
  return (scratch_folder() / name).string();
}

// Runs `command` with a shell in scratch_folder(). `tgc` means the binary that was built. The file `input` is standard
// input.
inline CommandResult run_in_shell(const std::string& command, const std::string& input = "/dev/null") {
  std::string out = (scratch_folder() / "out").string(), err = (scratch_folder() / "err").string();
  std::string tgc_folder = std::filesystem::path(TGC_BINARY).parent_path().string();
  std::string command_line = "cd '" + scratch_folder().string() + "' && PATH='" + tgc_folder + "':$PATH && { " +
                             command + "\n} >" + out + " 2>" + err + " <" + input;
  int status = std::system(command_line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

// Runs tgc with these arguments. `environment` has variables to set for the command: "A=1 B=2".
inline CommandResult run_tgc(const std::string& arguments, const std::string& input = "/dev/null",
                             const std::string& environment = "") {
  return run_in_shell(environment + " tgc " + arguments, input);
}

inline bool contains_text(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

// Checks that the command ends with exit code 2, a message that contains `words`, and no standard output.
inline void expect_error(const std::string& arguments, const std::string& words) {
  CommandResult r = run_tgc(arguments);
  INFO(arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(r.out == "");
  CHECK(r.err.starts_with("tgc: "));
  CHECK(contains_text(r.err, words));
}

}  // namespace tgc
