#pragma once
#include <doctest/doctest.h>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// Ends the test case if `condition` is true. scripts/ci/count_tests then counts it as skipped, not as passed.
#define SKIP_TEST_IF(condition, reason)        \
  if (condition) {                             \
    MESSAGE("SKIPPED: ", std::string(reason)); \
    return;                                    \
  }

namespace tgc {

// Returns the path of the file `name` of the source tree. Defined in apps/tests/main.cpp.
std::string source_path(const std::string& name);
inline std::string test_path(const std::string& name) { return source_path("testdata/" + name); }

inline std::vector<std::string> read_test_lines(const std::string& name) {
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

class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) previous_value_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() { previous_value_ ? setenv(name_, previous_value_->c_str(), 1) : unsetenv(name_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> previous_value_;
};

}  // namespace tgc
