// What tests share: where the source tree is, the files of testdata/, and variables of the environment.
#pragma once
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace tgc {

// of a file in the source tree; defined in test_main.cc alone, which knows the folder
std::string source_path(const std::string& name);
inline std::string test_path(const std::string& name) { return source_path("testdata/" + name); }

inline std::vector<std::string> test_lines(const std::string& name) {
  std::ifstream in(test_path(name));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// While this lives, a variable of the environment has a value; then it has the one before again, or none.
class WithEnvironment {
 public:
  WithEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~WithEnvironment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  WithEnvironment(const WithEnvironment&) = delete;
  WithEnvironment& operator=(const WithEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tgc
