#include "lib/execute/placement.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("choose_placement combines --device and --target") {
  struct Row {
    const char *device, *target, *label, *lowered;
  };
  for (const Row& row : {Row{"", "", "CPU:LLVM", "CPU:LLVM"},
                         {"CPU:CLANG", "", "CPU:CLANG", "CPU:CLANG"},
                         {"", "CPU:CLANG", "CPU:CLANG", "CPU:CLANG"},
                         {"CPU", "CPU:CLANG", "CPU:CLANG", "CPU:CLANG"},
                         {"REF", "", "REF", ""},
                         {"REF", "AMD:HIP:gfx1100", "REF, lowered for AMD:HIP:gfx1100", "AMD:HIP:gfx1100"}}) {
    CAPTURE(row.device);
    CAPTURE(row.target);
    auto place = choose_placement(row.device, row.target, {});
    REQUIRE_MESSAGE(place.ok(), place.diag().text());
    CHECK(place->label == row.label);
    CHECK((place->target ? place->target->name() : "") == row.lowered);
    CHECK(place->is_ref == std::string(row.device).starts_with("REF"));
  }
  CHECK(choose_placement("CPU", "CUDA", {}).diag().text().find("a kernel lowered for 'CUDA' does not run on 'CPU'") ==
        0);
  CHECK(choose_placement("TPU", "", {}).diag().text().find("no device 'TPU'") == 0);
}

}  // namespace tgc
