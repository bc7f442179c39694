#include "lib/view/layout_core.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <vector>

namespace tgc {
namespace {

struct Drawn {
  std::vector<int32_t> first{0}, source;
  std::vector<float> size, want;
  std::vector<int32_t> want_row;
  std::vector<float> at, chain_centers;
  std::vector<int32_t> row, chain_first;
  std::vector<uint8_t> stub;
  int32_t nodes = 0;

  int32_t add(std::vector<int32_t> sources, float wanted = NAN, int32_t wanted_row = -1) {
    source.insert(source.end(), sources.begin(), sources.end());
    first.push_back(int32_t(source.size()));
    size.push_back(100), want.push_back(wanted), want_row.push_back(wanted_row);
    return nodes++;
  }
  void draw(bool strict = false) {
    LayoutInput in{nodes, first.data(), source.data(), size.data(), want.data(), want_row.data(), 4, 10, strict};
    at.assign(size_t(nodes), NAN), row.assign(size_t(nodes), -1), stub.assign(source.size() + 1, 0);
    chain_first.assign(size_t(nodes) + 1, 0), chain_centers.assign(size_t(nodes) * 3 + 1, NAN);
    std::vector<char> workspace(layout_workspace_bytes(in));
    layout_graph(in, {at.data(), row.data(), stub.data(), chain_first.data(), chain_centers.data()}, workspace.data());
  }
  std::vector<std::vector<int32_t>> rows() const {
    std::vector<std::vector<int32_t>> out;
    for (int32_t i = 0; i < nodes; i++) {
      if (size_t(row[size_t(i)]) >= out.size()) out.resize(size_t(row[size_t(i)]) + 1);
      out[size_t(row[size_t(i)])].push_back(i);
    }
    for (auto& r : out)
      std::sort(r.begin(), r.end(), [&](int32_t a, int32_t b) { return at[size_t(a)] < at[size_t(b)]; });
    return out;
  }
  size_t overlaps() const {
    size_t out = 0;
    for (auto& r : rows())
      for (size_t k = 1; k < r.size(); k++) out += at[size_t(r[k])] - at[size_t(r[k - 1])] < 109.5f;
    return out;
  }
  size_t upwards() const {
    size_t out = 0;
    for (int32_t i = 0; i < nodes; i++)
      for (int32_t e = first[size_t(i)]; e < first[size_t(i) + 1]; e++)
        out += row[size_t(source[size_t(e)])] >= row[size_t(i)];
    return out;
  }
};

Drawn random_graph(int32_t nodes, uint32_t seed, int32_t reach) {
  std::mt19937 random(seed);
  Drawn g;
  for (int32_t i = 0; i < nodes; i++) {
    std::vector<int32_t> sources;
    for (uint32_t k = 0; i && k < random() % 4; k++)
      sources.push_back(i - 1 - int32_t(random() % uint32_t(std::min(i, reach))));
    g.add(sources);
  }
  return g;
}

}  // namespace

TEST_CASE("layout: a diamond has three rows with the two middle nodes beside each other") {
  Drawn g;
  int32_t a = g.add({}), b = g.add({a}), c = g.add({a}), d = g.add({b, c});
  g.draw();
  CHECK(g.row == std::vector<int32_t>{0, 1, 1, 2});
  CHECK(g.overlaps() == 0);
  CHECK(std::abs(g.at[size_t(a)] - g.at[size_t(d)]) < 1);
  CHECK(std::abs((g.at[size_t(b)] + g.at[size_t(c)]) / 2 - g.at[size_t(a)]) < 1);
}

TEST_CASE("layout: nodes never overlap, sources are above their users, and long edges are stubs") {
  for (uint32_t seed = 0; seed < 40; seed++) {
    Drawn g = random_graph(20 + int32_t(seed) * 15, seed, seed % 2 ? 12 : 100);
    g.draw();
    CHECK(g.overlaps() == 0);
    CHECK(g.upwards() == 0);
    for (int32_t i = 0; i < g.nodes; i++)
      for (int32_t e = g.first[size_t(i)]; e < g.first[size_t(i) + 1]; e++)
        CHECK(bool(g.stub[size_t(e)]) == (g.row[size_t(i)] - g.row[size_t(g.source[size_t(e)])] > 4));
  }
}

TEST_CASE("layout: nodes keep their order when others are added and removed") {
  for (uint32_t seed = 0; seed < 20; seed++) {
    Drawn before = random_graph(120, seed, 30);
    before.draw();
    Drawn after;
    std::mt19937 random(seed);
    std::vector<int32_t> number_in_after(size_t(before.nodes), -1);
    for (int32_t i = 0; i < before.nodes; i++) {
      std::vector<int32_t> sources;
      for (int32_t e = before.first[size_t(i)]; e < before.first[size_t(i) + 1]; e++)
        sources.push_back(number_in_after[size_t(before.source[size_t(e)])]);
      if (i % 3 == 0 && !sources.empty()) sources[0] = after.add({sources[0]});
      number_in_after[size_t(i)] = after.add(sources, before.at[size_t(i)]);
    }
    after.draw();
    CHECK(after.overlaps() == 0);
    CHECK(after.upwards() == 0);
    for (int32_t i = 0; i < before.nodes; i++)
      for (int32_t k = 0; k < i; k++) {
        int32_t a = number_in_after[size_t(i)], b = number_in_after[size_t(k)];
        if (after.row[size_t(a)] != after.row[size_t(b)]) continue;
        if (std::abs(before.at[size_t(i)] - before.at[size_t(k)]) < 1) continue;
        CHECK((before.at[size_t(i)] < before.at[size_t(k)]) == (after.at[size_t(a)] < after.at[size_t(b)]));
      }
  }
}

TEST_CASE("layout: strict keeps rows and positions and puts new nodes where there is room") {
  for (uint32_t seed = 0; seed < 20; seed++) {
    Drawn before = random_graph(150, seed, 20);
    before.draw();
    Drawn after;
    std::vector<int32_t> number_in_after(size_t(before.nodes), -1);
    for (int32_t i = 0; i < before.nodes; i++) {
      std::vector<int32_t> sources;
      for (int32_t e = before.first[size_t(i)]; e < before.first[size_t(i) + 1]; e++)
        sources.push_back(number_in_after[size_t(before.source[size_t(e)])]);
      for (int k = 0; k < 6 && i % 20 == 0 && !sources.empty(); k++) sources[0] = after.add({sources[0]});
      number_in_after[size_t(i)] = after.add(sources, before.at[size_t(i)], before.row[size_t(i)]);
    }
    after.draw(true);
    for (int32_t i = 0; i < before.nodes; i++) {
      CHECK(after.at[size_t(number_in_after[size_t(i)])] == before.at[size_t(i)]);
      CHECK(after.row[size_t(number_in_after[size_t(i)])] == before.row[size_t(i)]);
    }
    CHECK(after.overlaps() == 0);
  }
}

TEST_CASE("layout: extreme shapes are fast: a chain, a star, a comb, an empty graph") {
  auto begun = std::clock();
  Drawn none, chain, star, comb;
  none.draw();
  for (int32_t i = 0; i < 50000; i++) i ? chain.add({i - 1}) : chain.add({});
  chain.draw();
  CHECK(chain.row.back() == 49999);
  CHECK(chain.at[0] == chain.at[49999]);
  star.add({});
  for (int32_t i = 1; i < 50000; i++) star.add({0});
  star.draw();
  CHECK(star.overlaps() == 0);
  for (int32_t i = 0; i < 20000; i++) i > 1 ? comb.add({i - 1, 0}) : i ? comb.add({0}) : comb.add({});
  comb.draw();
  CHECK(comb.upwards() == 0);
  Drawn many = random_graph(50000, 7, 3000);
  many.draw();
  CHECK(many.overlaps() == 0);
  Drawn crowd;  // the ideal positions of all new nodes are the same
  int32_t root = crowd.add({});
  for (int32_t i = 0; i < 5000; i++) crowd.add({root}, float(i) * 110, 1);
  for (int32_t i = 0; i < 5000; i++) crowd.add({root}, NAN, 1);
  crowd.draw(true);
  CHECK(crowd.overlaps() == 0);
  CHECK(double(std::clock() - begun) / CLOCKS_PER_SEC < 10);
}

}  // namespace tgc
