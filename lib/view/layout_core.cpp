#include "lib/view/layout_core.h"

namespace tgc {
namespace {

constexpr float kChainElementSize = 6;  // width of a chain element
constexpr int kOrderSweeps = 8, kPlaceSweeps = 10;
constexpr float kFixedWeight = 4096;  // weight of a node that keeps its earlier position

bool is_not_nan(float x) { return x == x; }

class Workspace {
 public:
  explicit Workspace(void* at) : next_byte_(static_cast<char*>(at)) {}
  template <class T>
  T* allocate_array(int32_t count, T value) {
    T* out = reinterpret_cast<T*>(next_byte_);
    next_byte_ += (size_t(count) * sizeof(T) + 7) / 8 * 8;
    for (int32_t i = 0; i < count; i++) out[i] = value;
    return out;
  }

 private:
  char* next_byte_;
};

// Sorts `count` items stably by key[item]. `spare` is a buffer for as many items.
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

struct NeighbourLists {
  int32_t* begins;
  int32_t* neighbours;
};

class Layout {
 public:
  Layout(const LayoutInput& in, const LayoutOutput& out, void* workspace)
      : input_(in), output_(out), workspace_(workspace) {}

  void run() {
    assign_rows();
    make_chains();
    link_items();
    fill_rows();
    order_rows();
    place_items();
    for (int32_t i = 0; i < input_.num_nodes; i++) output_.node_centers[i] = item_centers_[i];
    for (int32_t i = input_.num_nodes; i < num_items_; i++)
      output_.chain_centers[i - input_.num_nodes] = item_centers_[i];
  }

 private:
  // Puts each node below its sources and not above its earlier row. With should_keep_known_nodes, known nodes keep
  // their rows. Then new nodes are put above the known nodes that depend on them, unless these are in row 0, even if
  // they are then not below their sources.
  void assign_rows() {
    int32_t* nearest_user = workspace_.allocate_array<int32_t>(input_.num_nodes, INT32_MAX);
    int32_t* fixed_user = workspace_.allocate_array<int32_t>(input_.num_nodes, INT32_MAX);
    if (input_.should_keep_known_nodes)
      for (int32_t i = input_.num_nodes; i-- > 0;) {
        int32_t most = input_.earlier_rows[i] >= 0 ? input_.earlier_rows[i] : fixed_user[i];
        for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1]; e++)
          if (int32_t s = input_.source[e]; most < fixed_user[s]) fixed_user[s] = most;
      }
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      int32_t row = input_.earlier_rows[i] > 0 ? input_.earlier_rows[i] : 0;
      bool stays = input_.should_keep_known_nodes && input_.earlier_rows[i] >= 0;
      for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1] && !stays; e++) {
        int32_t after = output_.row[input_.source[e]] + 1;
        if (after > row) row = after;
      }
      if (!stays && row >= fixed_user[i]) row = fixed_user[i] ? fixed_user[i] - 1 : 0;
      output_.row[i] = row;
    }
    // to shorten edges, a new node whose sources have no other users moves down to the row above its topmost user
    int32_t* users = workspace_.allocate_array<int32_t>(input_.num_nodes, 0);
    for (int32_t e = 0; e < input_.edge_begins[input_.num_nodes]; e++) users[input_.source[e]]++;
    for (int32_t i = input_.num_nodes; i-- > 0;) {
      bool alone = input_.earlier_rows[i] < 0;
      for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1]; e++) alone &= users[input_.source[e]] == 1;
      if (alone && nearest_user[i] != INT32_MAX && nearest_user[i] > output_.row[i])
        output_.row[i] = nearest_user[i] - 1;
      for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1]; e++)
        if (int32_t s = input_.source[e]; output_.row[i] < nearest_user[s]) nearest_user[s] = output_.row[i];
    }
    for (int32_t i = 0; i < input_.num_nodes; i++)
      if (output_.row[i] >= num_rows_) num_rows_ = output_.row[i] + 1;
  }

  // Numbers the items to place: all nodes, then the chain elements, one for each row that a node's edges pass.
  void make_chains() {
    int32_t* far = workspace_.allocate_array<int32_t>(input_.num_nodes, 0);
    for (int32_t i = 0; i < input_.num_nodes; i++)
      for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1]; e++) {
        int32_t s = input_.source[e], span = output_.row[i] - output_.row[s];
        output_.is_stub_edge[e] = span > input_.max_edge_rows || span < 1;
        if (!output_.is_stub_edge[e] && span > far[s]) far[s] = span;
      }
    num_items_ = input_.num_nodes;
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      output_.chain_begins[i] = num_items_ - input_.num_nodes;
      if (far[i] > 1) num_items_ += far[i] - 1;
    }
    output_.chain_begins[input_.num_nodes] = num_items_ - input_.num_nodes;
    item_rows_ = workspace_.allocate_array<int32_t>(num_items_, 0),
    item_sizes_ = workspace_.allocate_array<float>(num_items_, kChainElementSize);
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      item_rows_[i] = output_.row[i], item_sizes_[i] = input_.node_sizes[i];
      for (int32_t c = output_.chain_begins[i]; c < output_.chain_begins[i + 1]; c++)
        item_rows_[input_.num_nodes + c] = output_.row[i] + 1 + c - output_.chain_begins[i];
    }
  }

  // Returns the item of an edge from `source` in the row before `row`: a chain element, or `source` itself.
  int32_t item_in_previous_row(int32_t source, int32_t row) const {
    int32_t span = row - output_.row[source];
    return span == 1 ? source : input_.num_nodes + output_.chain_begins[source] + span - 2;
  }

  // Calls visit(above, below) for each pair of items in neighbouring rows that an edge joins.
  template <class Visit>
  void for_each_link(Visit visit) const {
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      for (int32_t e = input_.edge_begins[i]; e < input_.edge_begins[i + 1]; e++)
        if (!output_.is_stub_edge[e]) visit(item_in_previous_row(input_.source[e], output_.row[i]), i);
      for (int32_t c = output_.chain_begins[i]; c < output_.chain_begins[i + 1]; c++)
        visit(c == output_.chain_begins[i] ? i : input_.num_nodes + c - 1, input_.num_nodes + c);
    }
  }

  template <class Key, class Item>
  NeighbourLists make_neighbour_lists(int32_t keys, int32_t count, Key key, Item neighbours) {
    NeighbourLists out{workspace_.allocate_array<int32_t>(keys + 1, 0), workspace_.allocate_array<int32_t>(count, 0)};
    for_each_link([&](int32_t a, int32_t b) { out.begins[key(a, b) + 1]++; });
    for (int32_t k = 0; k < keys; k++) out.begins[k + 1] += out.begins[k];
    for_each_link([&](int32_t a, int32_t b) { out.neighbours[out.begins[key(a, b)]++] = neighbours(a, b); });
    for (int32_t k = keys; k > 0; k--) out.begins[k] = out.begins[k - 1];
    out.begins[0] = 0;
    return out;
  }

  void link_items() {
    int32_t links = 0;
    for_each_link([&](int32_t, int32_t) { links++; });
    neighbours_above_ = make_neighbour_lists(
        num_items_, links, [](int32_t, int32_t b) { return b; }, [](int32_t a, int32_t) { return a; });
    neighbours_below_ = make_neighbour_lists(
        num_items_, links, [](int32_t a, int32_t) { return a; }, [](int32_t, int32_t b) { return b; });
  }

  // The first order is that of the nodes' numbers, because related nodes have close numbers.
  void fill_rows() {
    row_begins_ = workspace_.allocate_array<int32_t>(num_rows_ + 1, 0);
    row_items_ = workspace_.allocate_array<int32_t>(num_items_, 0),
    sort_buffer_ = workspace_.allocate_array<int32_t>(num_items_, 0);
    for (int32_t i = 0; i < num_items_; i++) row_begins_[item_rows_[i] + 1]++;
    for (int32_t c = 0; c < num_rows_; c++) row_begins_[c + 1] += row_begins_[c];
    int32_t* next = workspace_.allocate_array<int32_t>(num_rows_, 0);
    auto add = [&](int32_t i) { row_items_[row_begins_[item_rows_[i]] + next[item_rows_[i]]++] = i; };
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      add(i);
      for (int32_t c = output_.chain_begins[i]; c < output_.chain_begins[i + 1]; c++) add(input_.num_nodes + c);
    }
  }

  // Returns the mean of `value` over the item's neighbours in `side` whose value is not NaN; NaN if there are none.
  float mean_of_neighbours(const NeighbourLists& side, const float* value, int32_t item) const {
    float sum = 0;
    int32_t known = 0;
    for (int32_t k = side.begins[item]; k < side.begins[item + 1]; k++)
      if (is_not_nan(value[side.neighbours[k]])) sum += value[side.neighbours[k]], known++;
    return known ? sum / float(known) : __builtin_nanf("");
  }

  void order_rows() {
    sort_keys_ = workspace_.allocate_array<float>(num_items_, __builtin_nanf(""));
    item_centers_ = workspace_.allocate_array<float>(num_items_, 0);
    is_fixed_ = workspace_.allocate_array<uint8_t>(num_items_, 0);
    for (int32_t i = 0; i < input_.num_nodes; i++) {
      is_fixed_[i] = is_not_nan(input_.earlier_positions[i]);
      has_fixed_nodes_ |= is_fixed_[i] != 0;
    }
    if (has_fixed_nodes_ || input_.should_keep_known_nodes) order_by_earlier_positions();
    else order_by_sweeps();
  }

  void order_by_earlier_positions() {
    for (int32_t i = 0; i < input_.num_nodes; i++) sort_keys_[i] = input_.earlier_positions[i];
    for (int32_t c = num_rows_; c-- > 0;) fill_unknown_keys(neighbours_below_, c);
    for (int32_t c = 0; c < num_rows_; c++) fill_unknown_keys(neighbours_above_, c);
    for (int32_t c = num_rows_; c-- > 0;) fill_unknown_keys(neighbours_below_, c);
    float last = 0;
    for (int32_t i = 0; i < num_items_; i++) {
      if (!is_not_nan(sort_keys_[i])) sort_keys_[i] = last;
      last = sort_keys_[i];
    }
    for (int32_t c = 0; c < num_rows_; c++)
      sort_by(sort_keys_, row_items_ + row_begins_[c], row_begins_[c + 1] - row_begins_[c], sort_buffer_);
  }
  void fill_unknown_keys(const NeighbourLists& side, int32_t row) {
    for (int32_t k = row_begins_[row]; k < row_begins_[row + 1]; k++)
      if (int32_t i = row_items_[k]; !is_not_nan(sort_keys_[i]))
        sort_keys_[i] = mean_of_neighbours(side, sort_keys_, i);
  }

  void order_by_sweeps() {
    float* position = item_centers_;
    for (int32_t c = 0; c < num_rows_; c++) store_relative_positions(c, position);
    for (int sweep = 0; sweep < kOrderSweeps; sweep++) {
      bool downwards = sweep % 2;
      for (int32_t k = 0; k < num_rows_; k++) {
        int32_t c = downwards ? k : num_rows_ - 1 - k;
        for (int32_t at = row_begins_[c]; at < row_begins_[c + 1]; at++) {
          int32_t i = row_items_[at];
          float there = mean_of_neighbours(downwards ? neighbours_above_ : neighbours_below_, position, i);
          sort_keys_[i] = is_not_nan(there) ? there : position[i];
        }
        sort_by(sort_keys_, row_items_ + row_begins_[c], row_begins_[c + 1] - row_begins_[c], sort_buffer_);
        store_relative_positions(c, position);
      }
    }
  }
  // Stores relative positions, from 0 to 1, so that rows of different lengths are comparable.
  void store_relative_positions(int32_t c, float* position) {
    float count = float(row_begins_[c + 1] - row_begins_[c]);
    for (int32_t k = row_begins_[c]; k < row_begins_[c + 1]; k++)
      position[row_items_[k]] = (float(k - row_begins_[c]) + 0.5f) / count;
  }

  void place_items() {
    if (input_.should_keep_known_nodes) {
      gaps_ = workspace_.allocate_array<Gap>(num_items_ + 1, {});
      for (int32_t c = 0; c < num_rows_; c++) fill_gaps(c);
      return;
    }
    blocks_ = workspace_.allocate_array<Block>(num_items_, {});
    for (int32_t c = 0; c < num_rows_; c++) set_initial_positions(c);
    for (int32_t i = 0; i < input_.num_nodes; i++)
      if (is_fixed_[i]) item_centers_[i] = input_.earlier_positions[i];
    for (int sweep = 0; sweep < kPlaceSweeps; sweep++)
      for (int32_t k = 0; k < num_rows_; k++) {
        bool downwards = sweep % 2;
        settle_row(downwards ? k : num_rows_ - 1 - k, downwards ? neighbours_above_ : neighbours_below_,
                   sweep + 2 >= kPlaceSweeps);
      }
  }
  // Sets initial positions in row `c`: those in sort_keys_ if some nodes keep their positions, else side by side around
  // 0.
  void set_initial_positions(int32_t c) {
    float total = 0;
    for (int32_t k = row_begins_[c]; k < row_begins_[c + 1]; k++) total += item_sizes_[row_items_[k]] + input_.gap;
    float y = -total / 2;
    for (int32_t k = row_begins_[c]; k < row_begins_[c + 1]; k++) {
      int32_t i = row_items_[k];
      item_centers_[i] = has_fixed_nodes_ ? sort_keys_[i] : y + item_sizes_[i] / 2;
      y += item_sizes_[i] + input_.gap;
    }
  }

  float center_distance(int32_t a, int32_t b) const {
    return (item_sizes_[a] + item_sizes_[b]) / 2 +
           (a < input_.num_nodes && b < input_.num_nodes ? input_.gap : input_.gap / 3);
  }

  // The free space between two neighbours that keep their positions, or at an end of the row.
  struct Gap {
    float low, high;
    int32_t before, behind;  // gaps that may have room (union-find), initially the gap itself
  };
  // Puts each new item of row `c` into the gap between its neighbours in the row's order. A node that does not fit goes
  // into the gap with enough space that is nearest to the node's sort key.
  void fill_gaps(int32_t c) {
    constexpr float kFar = 1e9f;
    int32_t *items = row_items_ + row_begins_[c], count = row_begins_[c + 1] - row_begins_[c], gaps = 0;
    gaps_[0].low = -kFar;
    for (int32_t k = 0; k < count; k++) {
      int32_t i = items[k];
      if (!is_fixed_[i]) continue;
      item_centers_[i] = input_.earlier_positions[i];
      gaps_[gaps].high = item_centers_[i] - item_sizes_[i] / 2;
      gaps_[++gaps].low = item_centers_[i] + item_sizes_[i] / 2;
    }
    gaps_[gaps++].high = kFar;
    for (int32_t g = 0; g < gaps; g++) gaps_[g].before = gaps_[g].behind = g;
    for (int32_t k = 0, g = 0; k < count; k++) {
      int32_t i = items[k];
      if (is_fixed_[i]) g++;
      else put_into_nearest_gap(i, g, gaps);
    }
  }
  bool put_into_gap(int32_t i, Gap& gap) {
    float room = i < input_.num_nodes ? input_.gap : input_.gap / 3, low = gap.low + room + item_sizes_[i] / 2;
    float high = gap.high - room - item_sizes_[i] / 2;
    if (low > high) return false;
    item_centers_[i] = sort_keys_[i] < low ? low : sort_keys_[i] > high ? high : sort_keys_[i];
    if (sort_keys_[i] > high) gap.high = item_centers_[i] - item_sizes_[i] / 2;
    else gap.low = item_centers_[i] + item_sizes_[i] / 2;
    return true;
  }
  void put_into_nearest_gap(int32_t i, int32_t g, int32_t gaps) {
    bool is_node = i < input_.num_nodes;
    if (put_into_gap(i, gaps_[g])) return;
    if (!is_node) {  // the edge is drawn behind a node
      item_centers_[i] = sort_keys_[i];
      return;
    }
    int32_t before = find_gap_before(g), behind = find_gap_behind(g, gaps);
    while (true) {
      bool is_before =
          behind >= gaps || (before >= 0 && sort_keys_[i] - gaps_[before].high < gaps_[behind].low - sort_keys_[i]);
      int32_t at = is_before ? before : behind;
      if (at < 0 || at >= gaps || put_into_gap(i, gaps_[at])) return;
      if (is_before) gaps_[at].before = at - 1, before = find_gap_before(at);
      else gaps_[at].behind = at + 1, behind = find_gap_behind(at, gaps);
    }
  }
  // Returns the last gap up to `g` that may have room, or -1. find_gap_behind() returns the first such gap from `g` on,
  // or `gaps`. The last gap of a row always has room.
  int32_t find_gap_before(int32_t g) {
    while (g >= 0 && gaps_[g].before != g) {
      if (int32_t n = gaps_[g].before; n >= 0) gaps_[g].before = gaps_[n].before;
      g = gaps_[g].before;
    }
    return g;
  }
  int32_t find_gap_behind(int32_t g, int32_t gaps) {
    while (g < gaps && gaps_[g].behind != g) {
      if (int32_t n = gaps_[g].behind; n < gaps) gaps_[g].behind = gaps_[n].behind;
      g = gaps_[g].behind;
    }
    return g;
  }

  // Consecutive items that would overlap at their ideal positions. They are placed side by side, at the weighted mean
  // weighted_sum / weight of these positions.
  struct Block {
    float weighted_sum, weight;
    int32_t num_items;
  };
  void settle_row(int32_t c, const NeighbourLists& side, bool both_sides) {
    int32_t begin = row_begins_[c], end = row_begins_[c + 1], blocks = 0;
    float offset = 0;
    for (int32_t k = begin; k < end; k++) {
      int32_t i = row_items_[k];
      if (k > begin) offset += center_distance(row_items_[k - 1], i);
      float there = mean_of_neighbours(side, item_centers_, i),
            other = both_sides ? mean_of_neighbours(&side == &neighbours_above_ ? neighbours_below_ : neighbours_above_,
                                                    item_centers_, i)
                               : there;
      if (!is_not_nan(there)) there = is_not_nan(other) ? other : item_centers_[i];
      else if (is_not_nan(other)) there = (there + other) / 2;
      float weight = is_fixed_[i]           ? kFixedWeight
                     : i < input_.num_nodes ? 1
                                            : 6;  // a chain element: a high weight makes long edges straight
      float target = (is_fixed_[i] ? input_.earlier_positions[i] : there) - offset;
      Block block{target * weight, weight, 1};
      while (blocks &&
             blocks_[blocks - 1].weighted_sum * block.weight > block.weighted_sum * blocks_[blocks - 1].weight) {
        Block& before = blocks_[--blocks];
        block.weighted_sum += before.weighted_sum, block.weight += before.weight, block.num_items += before.num_items;
      }
      blocks_[blocks++] = block;
    }
    offset = 0;
    for (int32_t b = 0, k = begin; b < blocks; b++)
      for (int32_t n = 0; n < blocks_[b].num_items; n++, k++) {
        int32_t i = row_items_[k];
        if (k > begin) offset += center_distance(row_items_[k - 1], i);
        item_centers_[i] = blocks_[b].weighted_sum / blocks_[b].weight + offset;
      }
  }

  const LayoutInput& input_;
  const LayoutOutput& output_;
  Workspace workspace_;
  int32_t num_rows_ = 0, num_items_ = 0;
  bool has_fixed_nodes_ = false;
  int32_t *item_rows_ = nullptr, *row_begins_ = nullptr, *row_items_ = nullptr, *sort_buffer_ = nullptr;
  float *item_sizes_ = nullptr, *sort_keys_ = nullptr, *item_centers_ = nullptr;
  uint8_t* is_fixed_ = nullptr;
  NeighbourLists neighbours_above_ = {}, neighbours_below_ = {};
  Block* blocks_ = nullptr;
  Gap* gaps_ = nullptr;
};

}  // namespace

size_t layout_workspace_bytes(const LayoutInput& in) {
  size_t num_nodes = size_t(in.num_nodes), edges = num_nodes ? size_t(in.edge_begins[num_nodes]) : 0;
  size_t items = num_nodes * size_t(in.max_edge_rows < 1 ? 1 : in.max_edge_rows);
  size_t rows = num_nodes + 1, links = edges + items;  // `rows` is at most the largest earlier row + nodes + 1
  for (size_t i = 0; i < num_nodes; i++)
    if (size_t c = in.earlier_rows[i] > 0 ? size_t(in.earlier_rows[i]) : 0; c + num_nodes + 1 > rows)
      rows = c + num_nodes + 1;
  return 16 * num_nodes + 64 * items + 4 * (2 * items + 2 * links) + 12 * rows + 256;
}

void layout_graph(const LayoutInput& in, const LayoutOutput& out, void* workspace) {
  if (in.num_nodes) Layout(in, out, workspace).run();
  else if (out.chain_begins) out.chain_begins[0] = 0;
}

}  // namespace tgc
