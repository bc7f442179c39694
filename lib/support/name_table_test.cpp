#include "lib/support/name_table.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("NameTable: finds every name and nothing else") {
  std::string_view names[] = {"add", "dad", "dda", "a", "", "longer name", "add"};
  NameTable table(names);
  for (int i = 0; i < 6; i++) CHECK(table.find(names[i]) == i);
  for (const char* other : {"adda", "ad", "b", "aad", "longer_name"}) CHECK_MESSAGE(table.find(other) == -1, other);
}
