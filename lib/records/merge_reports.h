// Joins reports that several runs printed with --json, such as those of the shards of an input.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Calls `take` with the lines of the files, a report each as a JSON object, and the index of the file. Fails if a file
// cannot be read, or if `take` throws an exception of the JSON library; this error names `command`, such as "tgc check
// --json", which prints reports.
Status for_each_report(const std::vector<std::string>& files, const std::string& command,
                       const std::function<void(size_t file, const std::string& report)>& take);

// Returns `a` with the counts of `b` added by name, also in nested objects. Ignores the lists of `b`. Throws an
// exception of the JSON library if a text is malformed or if another value is no number.
std::string add_report_counts(const std::string& a, const std::string& b);

}  // namespace tgc
