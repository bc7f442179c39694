#include "lib/emulate/races.h"

#include <doctest/doctest.h>

using namespace tgc::emulate;

namespace {

struct Program {
  RaceDetector races;
  uint32_t next = 0;
  std::optional<RaceDetector::DataRace> touch(uint16_t thread, Access access, uint64_t address, uint32_t bytes = 4,
                                              uint32_t moment = 0) {
    return races.note_access(address, bytes,
                             {.instruction = next++, .moment = moment, .thread = thread, .access = access});
  }
  bool load(uint16_t thread, uint64_t address, uint32_t bytes = 4) {
    return !touch(thread, Access::Load, address, bytes);
  }
  bool store(uint16_t thread, uint64_t address, uint32_t bytes = 4) {
    return !touch(thread, Access::Store, address, bytes);
  }
};

}  // namespace

TEST_CASE("races: a store races with another thread's access in either order until a barrier") {
  Program p;
  CHECK((p.load(1, 0x1000) && p.load(2, 0x1000) && p.load(3, 0x1000)));
  CHECK((p.store(1, 0x2000) && p.store(1, 0x2000) && p.load(1, 0x2000)));
  CHECK_FALSE(p.load(2, 0x2000));
  CHECK_FALSE(p.store(2, 0x2000));
  for (uint16_t thread : {1, 2, 3}) CHECK_FALSE(p.store(thread, 0x1000));  // a race: two other threads have read 0x1000
  p.races.forget_accesses();
  CHECK((p.store(2, 0x2000) && p.store(3, 0x1000)));
}

TEST_CASE("races: the report names the other instruction and the first shared byte") {
  Program p;
  CHECK(p.store(4, 0x1008, 2));
  auto race = p.touch(9, Access::Load, 0x1000, 16);
  REQUIRE(race);
  CHECK(race->address == 0x1008);
  CHECK(race->earlier_access.thread == 4);
  CHECK(race->earlier_access.instruction == 0);
  CHECK(race->text("thread 4", "line 7") == "reads an address that thread 4 stored with no barrier between: line 7");
}

TEST_CASE("races: adjacent bytes and half words do not race and do not hide a race") {
  Program p;
  for (uint16_t thread = 0; thread < 64; thread++) CHECK(p.store(thread, 0x1000 + thread, 1));
  for (uint16_t thread = 0; thread < 64; thread++) CHECK(p.store(thread, 0x2000 + 2u * thread, 2));
  CHECK_FALSE(p.load(0, 0x1004, 4));
  CHECK_FALSE(p.store(5, 0x2000, 2));
  CHECK(p.store(70, 0x1ffc, 4));         // a word in a page that earlier accesses split into one-byte cells
  CHECK_FALSE(p.load(71, 0x1ffe, 8));    // the access crosses the end of the page
  CHECK(p.store(5, 0x3000, 4));
  CHECK(p.store(6, 0x3005, 1));
  CHECK_FALSE(p.store(6, 0x3003, 1));
}

TEST_CASE("races: atomics do not race with each other") {
  Program p;
  CHECK_FALSE(p.touch(1, Access::Atomic, 0x1000));
  CHECK_FALSE(p.touch(2, Access::Atomic, 0x1000));
  CHECK(p.touch(3, Access::Load, 0x1000));
}

TEST_CASE("races: threads of one team race only at the same moment") {
  Program p{.races = RaceDetector(32)};
  CHECK_FALSE(p.touch(1, Access::Store, 0x1000, 4, 1));
  CHECK_FALSE(p.touch(2, Access::Load, 0x1000, 4, 2));
  CHECK(p.touch(2, Access::Load, 0x1000, 4, 1));
  CHECK(p.touch(32, Access::Load, 0x1000, 4, 2));
  // threads 1, 2 and 3 of one team and thread 40 of another read, so a store by any of them races with the other team
  for (uint16_t thread : {1, 2, 40, 3}) CHECK_FALSE(p.touch(thread, Access::Load, 0x2000, 4, 5));
  CHECK(p.touch(40, Access::Store, 0x2000, 4, 5));
  CHECK(p.touch(1, Access::Store, 0x2000, 4, 6));
}
