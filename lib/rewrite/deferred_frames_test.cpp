#include "lib/rewrite/deferred_frames.h"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <set>

#include "lib/uop/graph.h"

using namespace tgc;

namespace {

// tinygrad's algorithm, the reference of the test: takes the front frame of a queue; if that frame is blocked, moves it
// to the end and tries the next frame.
struct Plain {
  std::deque<std::pair<uint32_t, UOp>> queue;
  bool take(uint32_t& next, const std::set<uint32_t>& done) {
    for (size_t i = 0; i < queue.size(); i++) {
      auto frame = queue.front();
      queue.pop_front();
      if (done.contains(frame.second.id())) return next = frame.first, true;
      queue.push_back(frame);
    }
    return false;
  }
};

// Compares DeferredFrames with Plain. Each step adds a random number of frames below `at_once`, and marks a random
// number of nodes below `woken` as done. Returns the number of frames taken.
size_t compare(Graph& g, uint32_t seed, int nodes, int at_once, int woken) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return int(random() % uint32_t(n)); };
  DeferredFrames waiting;
  Plain plain;
  std::set<uint32_t> done;
  std::vector<UOp> open;
  for (int i = 0; i < nodes; i++) open.push_back(g.constant(dtypes::int32, i));
  size_t taken = 0;
  uint32_t number = 0;
  while (!open.empty() || waiting.size()) {
    for (int i = below(at_once); i-- > 0 && !open.empty();) {
      UOp on = open[size_t(below(int(open.size())))];
      waiting.add_frame({on, on, ++number}, on);
      plain.queue.push_back({number, on});
    }
    for (int i = below(woken); i-- > 0 && !open.empty();) {
      std::swap(open[size_t(below(int(open.size())))], open.back());
      done.insert(open.back().id());
      waiting.mark_node_done(open.back());
      open.pop_back();
    }
    RewriteFrame next;
    uint32_t expected = 0;
    bool any = plain.take(expected, done);
    REQUIRE(waiting.take_next_frame(next) == any);
    REQUIRE(waiting.size() == plain.queue.size());
    if (!any) continue;
    REQUIRE(next.next_step == expected);
    taken++;
  }
  return taken;
}

}  // namespace

TEST_CASE("deferred frames: are taken in the order of a queue that puts blocked frames back") {
  Graph g;
  size_t taken = 0;
  for (uint32_t seed = 0; seed < 60; seed++) taken += compare(g, seed, 40 + int(seed), 2 + int(seed) % 20, 3);
  for (uint32_t seed = 0; seed < 40; seed++)
    taken += compare(g, seed, 400, 2 + int(seed) % 90, 2 + int(seed) * 3);
  CHECK(taken > 5000);
}

TEST_CASE("deferred frames: many can be added at one place, round after round") {
  Graph g;
  DeferredFrames waiting;
  UOp never = g.constant(dtypes::int32, 0);
  waiting.add_frame({never, never, 0}, never);
  UOp first = g.constant(dtypes::int32, 1);
  waiting.add_frame({first, first, 1}, first);
  waiting.add_frame({never, never, 2}, never);
  for (uint32_t i = 0; i < 2000; i++) {
    UOp before = g.constant(dtypes::int32, int64_t(i) + 1), after = g.constant(dtypes::int32, int64_t(i) + 2);
    waiting.mark_node_done(before);
    RewriteFrame next;
    REQUIRE(waiting.take_next_frame(next));
    REQUIRE(next.node == before);
    waiting.add_frame({after, after, 1}, after);
    waiting.add_frame({never, never, 3}, never);
  }
  CHECK(waiting.size() == 2003);
  waiting.mark_node_done(never);
  RewriteFrame next;
  std::vector<uint32_t> order;
  while (waiting.take_next_frame(next)) order.push_back(next.next_step);
  REQUIRE(order.size() == 2002);
  CHECK(order[1998] == 3);  // the frames ahead of the current position are taken first, the newest one before the rest
  CHECK(order[1999] == 2);
  CHECK(order[2000] == 0);  // then the frames are taken from the beginning of the ring, where the frame of stage 0 is
  CHECK(order[2001] == 3);
  CHECK(waiting.size() == 1);
  waiting.clear();
  CHECK(!waiting.take_next_frame(next));
}
