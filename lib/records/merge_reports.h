// Joins reports that several runs printed with --json, such as those of the shards of an input.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Calls `take` with each line of the files, a report as a JSON object, and the index of its file. Fails if a file
// cannot be read, or if `take` throws an exception of the JSON library. Errors name `command`, such as "tgc check
// --json", which prints such lines.
Status for_each_report(const std::vector<std::string>& files, const std::string& command,
                       const std::function<void(size_t file, const std::string& report)>& take);

// Adds the counts of `b` to those of the same names in `a`, also in nested objects. Ignores the lists of `b`. Throws an
// exception of the JSON library if a text is no JSON, or if another value is no count.
std::string sum_of_counts(const std::string& a, const std::string& b);

}  // namespace tgc
