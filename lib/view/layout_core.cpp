#include "lib/view/layout_core.h"

namespace tgc {
namespace {

constexpr float kThreadSize = 6;  // width of a chain element
constexpr int kOrderSweeps = 8, kPlaceSweeps = 10;
constexpr float kStays = 4096;  // weight of a node that keeps its earlier position

bool is_known(float x) { return x == x; }

class Workspace {
 public:
  explicit Workspace(void* at) : at_(static_cast<char*>(at)) {}
  template <class T>
  T* array(int32_t count, T value) {
    T* out = reinterpret_cast<T*>(at_);
    at_ += (size_t(count) * sizeof(T) + 7) / 8 * 8;
    for (int32_t i = 0; i < count; i++) out[i] = value;
    return out;
  }

 private:
  char* at_;
};

// Sorts `items` stably by `key`. `spare` has the same length.
void sort_by(const float* key, int32_t* items, int32_t count, int32_t* spare) {
  for (int32_t i = 1; i < count; i++) {
    if (key[items[i - 1]] > key[items[i]]) break;
    if (i + 1 == count) return;
  }
  for (int32_t width = 1; width < count; width *= 2) {
    for (int32_t begin = 0; begin < count; begin += 2 * width) {
      int32_t middle = begin + width < count ? begin + width : count;
      int32_t end = begin + 2 * width < count ? begin + 2 * width : count;
      int32_t a = begin, b = middle;
      for (int32_t i = begin; i < end; i++)
        spare[i] = a < middle && (b == end || !(key[items[b]] < key[items[a]])) ? items[a++] : items[b++];
    }
    for (int32_t i = 0; i < count; i++) items[i] = spare[i];
  }
}

struct Lists {
  int32_t* first;
  int32_t* item;
};

class Layout {
 public:
  Layout(const LayoutInput& in, const LayoutOutput& out, void* workspace) : in_(in), out_(out), work_(workspace) {}

  void run() {
    find_rows();
    make_chains();
    link();
    fill_rows();
    order();
    place();
    for (int32_t i = 0; i < in_.num_nodes; i++) out_.node_centers[i] = at_[i];
    for (int32_t i = in_.num_nodes; i < items_; i++) out_.chain_slots[i - in_.num_nodes] = at_[i];
  }

 private:
  // Puts nodes below their sources, not above earlier rows; with should_keep_known_nodes, only new ones, if possible.
  void find_rows() {
    int32_t* nearest_user = work_.array<int32_t>(in_.num_nodes, INT32_MAX);
    int32_t* fixed_user = work_.array<int32_t>(in_.num_nodes, INT32_MAX);
    if (in_.should_keep_known_nodes)
      for (int32_t i = in_.num_nodes; i-- > 0;) {
        int32_t most = in_.earlier_rows[i] >= 0 ? in_.earlier_rows[i] : fixed_user[i];
        for (int32_t e = in_.first[i]; e < in_.first[i + 1]; e++)
          if (int32_t s = in_.source[e]; most < fixed_user[s]) fixed_user[s] = most;
      }
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      int32_t row = in_.earlier_rows[i] > 0 ? in_.earlier_rows[i] : 0;
      bool stays = in_.should_keep_known_nodes && in_.earlier_rows[i] >= 0;
      for (int32_t e = in_.first[i]; e < in_.first[i + 1] && !stays; e++) {
        int32_t after = out_.row[in_.source[e]] + 1;
        if (after > row) row = after;
      }
      if (!stays && row >= fixed_user[i]) row = fixed_user[i] ? fixed_user[i] - 1 : 0;
      out_.row[i] = row;
    }
    // to shorten edges, a new node without other users of its sources moves down, right above its topmost user
    int32_t* users = work_.array<int32_t>(in_.num_nodes, 0);
    for (int32_t e = 0; e < in_.first[in_.num_nodes]; e++) users[in_.source[e]]++;
    for (int32_t i = in_.num_nodes; i-- > 0;) {
      bool alone = in_.earlier_rows[i] < 0;
      for (int32_t e = in_.first[i]; e < in_.first[i + 1]; e++) alone &= users[in_.source[e]] == 1;
      if (alone && nearest_user[i] != INT32_MAX && nearest_user[i] > out_.row[i]) out_.row[i] = nearest_user[i] - 1;
      for (int32_t e = in_.first[i]; e < in_.first[i + 1]; e++)
        if (int32_t s = in_.source[e]; out_.row[i] < nearest_user[s]) nearest_user[s] = out_.row[i];
    }
    for (int32_t i = 0; i < in_.num_nodes; i++)
      if (out_.row[i] >= rows_) rows_ = out_.row[i] + 1;
  }

  // Numbers the items to place: all nodes, then the chain elements, one for each row that a node's edges pass.
  void make_chains() {
    int32_t* far = work_.array<int32_t>(in_.num_nodes, 0);
    for (int32_t i = 0; i < in_.num_nodes; i++)
      for (int32_t e = in_.first[i]; e < in_.first[i + 1]; e++) {
        int32_t s = in_.source[e], span = out_.row[i] - out_.row[s];
        out_.is_stub_edge[e] = span > in_.max_edge_rows || span < 1;
        if (!out_.is_stub_edge[e] && span > far[s]) far[s] = span;
      }
    items_ = in_.num_nodes;
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      out_.chain_first[i] = items_ - in_.num_nodes;
      if (far[i] > 1) items_ += far[i] - 1;
    }
    out_.chain_first[in_.num_nodes] = items_ - in_.num_nodes;
    row_ = work_.array<int32_t>(items_, 0), size_ = work_.array<float>(items_, kThreadSize);
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      row_[i] = out_.row[i], size_[i] = in_.node_sizes[i];
      for (int32_t c = out_.chain_first[i]; c < out_.chain_first[i + 1]; c++)
        row_[in_.num_nodes + c] = out_.row[i] + 1 + c - out_.chain_first[i];
    }
  }

  // Returns the item of an edge from `source` in the row before `row`: a chain element, or `source` itself.
  int32_t last_before(int32_t source, int32_t row) const {
    int32_t span = row - out_.row[source];
    return span == 1 ? source : in_.num_nodes + out_.chain_first[source] + span - 2;
  }

  // Calls visit(above, below) for each pair of items in neighbouring rows that an edge joins.
  template <class Visit>
  void each_link(Visit visit) const {
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      for (int32_t e = in_.first[i]; e < in_.first[i + 1]; e++)
        if (!out_.is_stub_edge[e]) visit(last_before(in_.source[e], out_.row[i]), i);
      for (int32_t c = out_.chain_first[i]; c < out_.chain_first[i + 1]; c++)
        visit(c == out_.chain_first[i] ? i : in_.num_nodes + c - 1, in_.num_nodes + c);
    }
  }

  template <class Key, class Item>
  Lists lists(int32_t keys, int32_t count, Key key, Item item) {
    Lists out{work_.array<int32_t>(keys + 1, 0), work_.array<int32_t>(count, 0)};
    each_link([&](int32_t a, int32_t b) { out.first[key(a, b) + 1]++; });
    for (int32_t k = 0; k < keys; k++) out.first[k + 1] += out.first[k];
    each_link([&](int32_t a, int32_t b) { out.item[out.first[key(a, b)]++] = item(a, b); });
    for (int32_t k = keys; k > 0; k--) out.first[k] = out.first[k - 1];
    out.first[0] = 0;
    return out;
  }

  void link() {
    int32_t links = 0;
    each_link([&](int32_t, int32_t) { links++; });
    above_ = lists(items_, links, [](int32_t, int32_t b) { return b; }, [](int32_t a, int32_t) { return a; });
    below_ = lists(items_, links, [](int32_t a, int32_t) { return a; }, [](int32_t, int32_t b) { return b; });
  }

  // The first order is that of the nodes' numbers, because related nodes have close numbers.
  void fill_rows() {
    rows_first_ = work_.array<int32_t>(rows_ + 1, 0);
    in_row_ = work_.array<int32_t>(items_, 0), spare_ = work_.array<int32_t>(items_, 0);
    for (int32_t i = 0; i < items_; i++) rows_first_[row_[i] + 1]++;
    for (int32_t c = 0; c < rows_; c++) rows_first_[c + 1] += rows_first_[c];
    int32_t* next = work_.array<int32_t>(rows_, 0);
    auto add = [&](int32_t i) { in_row_[rows_first_[row_[i]] + next[row_[i]]++] = i; };
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      add(i);
      for (int32_t c = out_.chain_first[i]; c < out_.chain_first[i + 1]; c++) add(in_.num_nodes + c);
    }
  }

  // Returns the mean of `value` over the item's neighbours in `side` whose value is not NaN; NaN if there are none.
  float mean(const Lists& side, const float* value, int32_t item) const {
    float sum = 0;
    int32_t known = 0;
    for (int32_t k = side.first[item]; k < side.first[item + 1]; k++)
      if (is_known(value[side.item[k]])) sum += value[side.item[k]], known++;
    return known ? sum / float(known) : __builtin_nanf("");
  }

  void order() {
    key_ = work_.array<float>(items_, __builtin_nanf(""));
    at_ = work_.array<float>(items_, 0);
    stays_ = work_.array<uint8_t>(items_, 0);
    for (int32_t i = 0; i < in_.num_nodes; i++) {
      stays_[i] = is_known(in_.earlier_positions[i]);
      any_stays_ |= stays_[i] != 0;
    }
    if (any_stays_ || in_.should_keep_known_nodes) order_by_wants();
    else order_by_sweeps();
  }

  void order_by_wants() {
    for (int32_t i = 0; i < in_.num_nodes; i++) key_[i] = in_.earlier_positions[i];
    for (int32_t c = rows_; c-- > 0;) fill_keys(below_, c);
    for (int32_t c = 0; c < rows_; c++) fill_keys(above_, c);
    for (int32_t c = rows_; c-- > 0;) fill_keys(below_, c);
    float last = 0;
    for (int32_t i = 0; i < items_; i++) {
      if (!is_known(key_[i])) key_[i] = last;
      last = key_[i];
    }
    for (int32_t c = 0; c < rows_; c++)
      sort_by(key_, in_row_ + rows_first_[c], rows_first_[c + 1] - rows_first_[c], spare_);
  }
  void fill_keys(const Lists& side, int32_t row) {
    for (int32_t k = rows_first_[row]; k < rows_first_[row + 1]; k++)
      if (int32_t i = in_row_[k]; !is_known(key_[i])) key_[i] = mean(side, key_, i);
  }

  void order_by_sweeps() {
    float* position = at_;
    for (int32_t c = 0; c < rows_; c++) note_positions(c, position);
    for (int sweep = 0; sweep < kOrderSweeps; sweep++) {
      bool downwards = sweep % 2;
      for (int32_t k = 0; k < rows_; k++) {
        int32_t c = downwards ? k : rows_ - 1 - k;
        for (int32_t at = rows_first_[c]; at < rows_first_[c + 1]; at++) {
          int32_t i = in_row_[at];
          float there = mean(downwards ? above_ : below_, position, i);
          key_[i] = is_known(there) ? there : position[i];
        }
        sort_by(key_, in_row_ + rows_first_[c], rows_first_[c + 1] - rows_first_[c], spare_);
        note_positions(c, position);
      }
    }
  }
  // Stores relative positions, from 0 to 1, so that rows of different lengths are comparable.
  void note_positions(int32_t c, float* position) {
    float count = float(rows_first_[c + 1] - rows_first_[c]);
    for (int32_t k = rows_first_[c]; k < rows_first_[c + 1]; k++)
      position[in_row_[k]] = (float(k - rows_first_[c]) + 0.5f) / count;
  }

  void place() {
    if (in_.should_keep_known_nodes) {
      gaps_ = work_.array<Gap>(items_ + 1, {});
      for (int32_t c = 0; c < rows_; c++) fill_gaps(c);
      return;
    }
    blocks_ = work_.array<Block>(items_, {});
    for (int32_t c = 0; c < rows_; c++) pack(c);
    for (int32_t i = 0; i < in_.num_nodes; i++)
      if (stays_[i]) at_[i] = in_.earlier_positions[i];
    for (int sweep = 0; sweep < kPlaceSweeps; sweep++)
      for (int32_t k = 0; k < rows_; k++) {
        bool downwards = sweep % 2;
        settle(downwards ? k : rows_ - 1 - k, downwards ? above_ : below_, sweep + 2 >= kPlaceSweeps);
      }
  }
  // Sets initial positions in row `c`: those in key_ if some nodes keep their positions, else side by side around 0.
  void pack(int32_t c) {
    float total = 0;
    for (int32_t k = rows_first_[c]; k < rows_first_[c + 1]; k++) total += size_[in_row_[k]] + in_.gap;
    float y = -total / 2;
    for (int32_t k = rows_first_[c]; k < rows_first_[c + 1]; k++) {
      int32_t i = in_row_[k];
      at_[i] = any_stays_ ? key_[i] : y + size_[i] / 2;
      y += size_[i] + in_.gap;
    }
  }

  float distance(int32_t a, int32_t b) const {
    return (size_[a] + size_[b]) / 2 + (a < in_.num_nodes && b < in_.num_nodes ? in_.gap : in_.gap / 3);
  }

  // The free space between two neighbours that keep their positions, or at an end of the row.
  struct Gap {
    float low, high;
    int32_t before, behind;  // gaps that may have room (union-find), initially the gap itself
  };
  // Puts each new item of row `c` into the gap between its neighbours in the row's order. A node that does not fit goes
  // into the gap with enough space that is nearest to key_.
  void fill_gaps(int32_t c) {
    constexpr float kFar = 1e9f;
    int32_t *items = in_row_ + rows_first_[c], count = rows_first_[c + 1] - rows_first_[c], gaps = 0;
    gaps_[0].low = -kFar;
    for (int32_t k = 0; k < count; k++) {
      int32_t i = items[k];
      if (!stays_[i]) continue;
      at_[i] = in_.earlier_positions[i];
      gaps_[gaps].high = at_[i] - size_[i] / 2;
      gaps_[++gaps].low = at_[i] + size_[i] / 2;
    }
    gaps_[gaps++].high = kFar;
    for (int32_t g = 0; g < gaps; g++) gaps_[g].before = gaps_[g].behind = g;
    for (int32_t k = 0, g = 0; k < count; k++) {
      int32_t i = items[k];
      if (stays_[i]) g++;
      else put_near(i, g, gaps);
    }
  }
  bool put_into(int32_t i, Gap& gap) {
    float room = i < in_.num_nodes ? in_.gap : in_.gap / 3, low = gap.low + room + size_[i] / 2;
    float high = gap.high - room - size_[i] / 2;
    if (low > high) return false;
    at_[i] = key_[i] < low ? low : key_[i] > high ? high : key_[i];
    if (key_[i] > high) gap.high = at_[i] - size_[i] / 2;
    else gap.low = at_[i] + size_[i] / 2;
    return true;
  }
  void put_near(int32_t i, int32_t g, int32_t gaps) {
    bool is_node = i < in_.num_nodes;
    if (put_into(i, gaps_[g])) return;
    if (!is_node) {  // the edge is drawn behind a node
      at_[i] = key_[i];
      return;
    }
    int32_t before = next_before(g), behind = next_behind(g, gaps);
    while (true) {
      bool is_before =
          behind >= gaps || (before >= 0 && key_[i] - gaps_[before].high < gaps_[behind].low - key_[i]);
      int32_t at = is_before ? before : behind;
      if (at < 0 || at >= gaps || put_into(i, gaps_[at])) return;
      if (is_before) gaps_[at].before = at - 1, before = next_before(at);
      else gaps_[at].behind = at + 1, behind = next_behind(at, gaps);
    }
  }
  // Return the nearest gap at or left of `g` that may have room, or -1; and at or right of it, or `gaps`. The rightmost
  // gap always has room.
  int32_t next_before(int32_t g) {
    while (g >= 0 && gaps_[g].before != g) {
      if (int32_t n = gaps_[g].before; n >= 0) gaps_[g].before = gaps_[n].before;
      g = gaps_[g].before;
    }
    return g;
  }
  int32_t next_behind(int32_t g, int32_t gaps) {
    while (g < gaps && gaps_[g].behind != g) {
      if (int32_t n = gaps_[g].behind; n < gaps) gaps_[g].behind = gaps_[n].behind;
      g = gaps_[g].behind;
    }
    return g;
  }

  // Neighbours that would overlap at their ideal positions: they are placed side by side at the weighted mean sum /
  // weight.
  struct Block {
    float sum, weight;
    int32_t items;
  };
  void settle(int32_t c, const Lists& side, bool both_sides) {
    int32_t begin = rows_first_[c], end = rows_first_[c + 1], blocks = 0;
    float offset = 0;
    for (int32_t k = begin; k < end; k++) {
      int32_t i = in_row_[k];
      if (k > begin) offset += distance(in_row_[k - 1], i);
      float there = mean(side, at_, i), other = both_sides ? mean(&side == &above_ ? below_ : above_, at_, i) : there;
      if (!is_known(there)) there = is_known(other) ? other : at_[i];
      else if (is_known(other)) there = (there + other) / 2;
      float weight = stays_[i] ? kStays : i < in_.num_nodes ? 1 : 6;  // chain elements: long edges become straight
      float target = (stays_[i] ? in_.earlier_positions[i] : there) - offset;
      Block block{target * weight, weight, 1};
      while (blocks && blocks_[blocks - 1].sum * block.weight > block.sum * blocks_[blocks - 1].weight) {
        Block& before = blocks_[--blocks];
        block.sum += before.sum, block.weight += before.weight, block.items += before.items;
      }
      blocks_[blocks++] = block;
    }
    offset = 0;
    for (int32_t b = 0, k = begin; b < blocks; b++)
      for (int32_t n = 0; n < blocks_[b].items; n++, k++) {
        int32_t i = in_row_[k];
        if (k > begin) offset += distance(in_row_[k - 1], i);
        at_[i] = blocks_[b].sum / blocks_[b].weight + offset;
      }
  }

  const LayoutInput& in_;
  const LayoutOutput& out_;
  Workspace work_;
  int32_t rows_ = 0, items_ = 0;
  bool any_stays_ = false;
  int32_t *row_ = nullptr, *rows_first_ = nullptr, *in_row_ = nullptr, *spare_ = nullptr;
  float *size_ = nullptr, *key_ = nullptr, *at_ = nullptr;
  uint8_t* stays_ = nullptr;
  Lists above_ = {}, below_ = {};
  Block* blocks_ = nullptr;
  Gap* gaps_ = nullptr;
};

}  // namespace

size_t layout_workspace_bytes(const LayoutInput& in) {
  size_t num_nodes = size_t(in.num_nodes), edges = num_nodes ? size_t(in.first[num_nodes]) : 0;
  size_t items = num_nodes * size_t(in.max_edge_rows < 1 ? 1 : in.max_edge_rows);
  size_t rows = num_nodes + 1, links = edges + items;  // at most the largest earlier row + nodes + 1
  for (size_t i = 0; i < num_nodes; i++)
    if (size_t c = in.earlier_rows[i] > 0 ? size_t(in.earlier_rows[i]) : 0; c + num_nodes + 1 > rows)
      rows = c + num_nodes + 1;
  return 16 * num_nodes + 64 * items + 4 * (2 * items + 2 * links) + 12 * rows + 256;
}

void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace) {
  if (in.num_nodes) Layout(in, out, workspace).run();
  else if (out.chain_first) out.chain_first[0] = 0;
}

}  // namespace tgc
