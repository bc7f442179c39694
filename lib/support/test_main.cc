// The entry point of tgc_tests; every foo_test.cpp of the tree is compiled into it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
