// Joins reports that several runs printed with --json, such as those of the shards of an input.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Calls `take` for each line of the files, with the file's index and the line, which should be a report as a JSON
// object. Fails if a file cannot be read, or if `take` throws a Failure or an exception of the JSON library. After an
// exception of the JSON library, the error names `command`, such as "tgc check --json", which prints reports.
Status for_each_report(const std::vector<std::string>& files, const std::string& command,
                       const std::function<void(size_t file, const std::string& report)>& take);

// Returns `a` with the counts of `b` added by name, also in nested objects. Ignores the lists of `b`. Throws an
// exception of the JSON library if a text is malformed or if other values are no numbers.
std::string add_report_counts(const std::string& a, const std::string& b);

}  // namespace tgc
