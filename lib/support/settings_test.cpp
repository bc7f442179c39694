#include "lib/support/settings.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("Settings: are set by name, and errors suggest the nearest name") {
  Settings s;
  CHECK(s.DEVECTORIZE == 1);
  CHECK(s.set_value("DEVECTORIZE", "0").ok());
  CHECK(s.set_value("TC_OPT=2").ok());
  CHECK(s.DEVECTORIZE == 0);
  CHECK(s.TC_OPT == 2);
  CHECK(s.set_value("DEVECTORISE", "0").diag().expected == "DEVECTORIZE");
  CHECK(s.set_value("NOOPT", "yes").diag().expected == "an integer");
  CHECK(s.set_value("NOOPT").diag().expected == "KEY=VALUE");
}

TEST_CASE("Settings: the environment overrides the defaults") {
  ScopedEnvironment three("TC_SELECT", "3");
  auto s = Settings::read_environment();
  REQUIRE(s.ok());
  CHECK(s->TC_SELECT == 3);
  ScopedEnvironment letter("TC_SELECT", "x");
  CHECK(!Settings::read_environment().ok());
}

TEST_CASE("nearest_names: returns similar names, nearest first") {
  std::string_view names[] = {"expander", "devectorize", "final rewrite", "expand"};
  CHECK(nearest_names_text("expandr", names) == "expander, expand");
  CHECK(nearest_names_text("rewrite", names) == "final rewrite");
  CHECK(nearest_names_text("a-b", std::vector<std::string_view>{"a-c", "a-c", "a-d"}) == "a-c, a-d");
  CHECK(nearest_names_text("zzz", names) == "");
}
