#include "lib/driver/failure_collector.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("Shard: each item is in exactly one shard") {
  for (uint64_t k = 0; k < 40; k++) {
    int in = 0;
    for (uint64_t n = 1; n <= 3; n++) in += Shard{n, 3}.has_item(k);
    CHECK(in == 1);
  }
  CHECK(Shard::parse("2/4")->num_shards == 4);
  for (const char* text : {"", "0/4", "5/4", "1", "1/", "1/4x", "-1/4"}) CHECK_FALSE(Shard::parse(text));
}

}  // namespace tgc
