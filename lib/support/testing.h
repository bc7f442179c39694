// What tests share: where the source tree is, and the files of testdata/.
#pragma once
#include <fstream>
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

}  // namespace tgc
