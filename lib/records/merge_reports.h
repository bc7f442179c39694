// Joins reports that several runs printed with --json, for instance those of all shards of an input.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Calls `take` with the index of each file and with each of its lines, which are reports as JSON objects. Returns an
// error if a file cannot be read, or if `take` throws an exception of the JSON library because a line is not JSON or
// lacks a member. Errors say that lines must be what `command`, such as "tgc check --json", prints.
Status for_each_report(const std::vector<std::string>& files, const std::string& command,
                       const std::function<void(size_t file, const std::string& report)>& take);

// Returns the report `a` with the counts of the report `b` added to the counts of the same names, also in nested
// objects. Ignores the lists of `b`. Throws an exception of the JSON library if `a` or `b` is not JSON, or if another
// value is no count.
std::string sum_of_counts(const std::string& a, const std::string& b);

}  // namespace tgc
