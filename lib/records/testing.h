// Test helpers for golden records and errors.
#pragma once
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "lib/records/golden.h"
#include "lib/support/testing.h"

namespace tgc {

// Calls each(record) for the records of `files`, names in testdata/golden without extensions.
template <class Each>
void for_each_golden(std::initializer_list<const char*> files, Each each) {
  for (const char* file : files) {
    auto reader = GoldenReader::open(test_path("golden/") + file + ".jsonl.gz");
    REQUIRE(reader.ok());
    for (;;) {
      auto record = reader->next_record();
      REQUIRE(record.ok());
      if (!*record) break;
      each(**record);
    }
  }
}

// Returns the first line of the error, or "none".
template <class T>
std::string error_text_of(const Result<T>& read) {
  return read ? "none" : read.diag().text().substr(0, read.diag().text().find('\n'));
}

}  // namespace tgc
