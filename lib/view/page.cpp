#include "lib/view/page.h"

#include <zlib.h>

#include <map>
#include <span>

#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/version.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

// Graphs are compressed in groups. The page unpacks a whole group, so in a page of few graphs, each is compressed
// alone.
constexpr size_t kFewGraphs = 32, kMostInGroup = 32, kMostGroupBytes = 8 << 20;
constexpr int kCompressionLevel = 7;  // level 9 takes longer, and its pages are hardly smaller

void write_launch_facts(JsonWriter& json, const GoldenProgram& p) {
  auto sizes = [](const std::vector<std::string>& all) {
    std::string out;
    for (const std::string& size : all) out += (out.empty() ? "" : " x ") + size;
    return out;
  };
  json.member("function", p.function_name).member("groups", sizes(p.global_size));
  json.member("threads", p.has_local_size ? sizes(p.local_size) : "");
  json.member("opts", p.applied_opts).member("ops", p.ops).member("mem", p.mem);
}

}  // namespace

std::string view_index_json(const ViewContent& content) {
  return json_object([&](JsonWriter& json) {
    json.member("format", "tgc-view").member("version", 1);
    json.member("tgc", tgc_version()).member("tinygrad", tinygrad_version()).member("title", content.input_title);
    if (!content.input_names.empty()) json.member("sides", content.input_names);
    json.key("graphs").array([&] {
      for (const RecordedGraph& g : content.graphs)
        json.object([&] {
          json.member("name", g.name).member("target", g.target).member("made_for", g.user_operation);
          json.member("kind", g.is_tensor_graph ? "tensor" : "kernel").member("nodes", g.num_nodes);
          json.member("rewrites", g.num_rewrites).member("stages", g.num_stages).key("ms").number(g.wall_ms, "%.3f");
          if (!content.input_names.empty()) {
            json.member("structure", g.structure_hash).key("results").array([&] {
              for (const auto& [name, hash] : g.stage_hashes) json.value(name).value(hash);
            });
          }
          json.member("error", g.error);
          if (g.program) write_launch_facts(json, *g.program);
          if (g.is_runtime_kernel) json.member("runtime", true);
          json.member("numbers", g.item_indices)
              .member("side", g.input_side_index)
              .member("measured", g.measured_seconds);
          if (g.schedule_index >= 0) json.member("schedule_of", g.schedule_index);
          if (!g.schedule_json.empty()) json.key("schedule").raw_json(g.schedule_json);
          if (!g.bisect_json.empty()) json.key("accused").raw_json(g.bisect_json);
          if (!g.proof_json.empty()) json.key("proof").raw_json(g.proof_json);
          if (!g.bundle_json.empty()) json.key("bundle").raw_json(g.bundle_json);
        });
    });
    if (!content.schedule_json.empty()) json.key("schedule").raw_json(content.schedule_json);
    if (!content.measuring_device.empty()) json.member("measured_on", content.measuring_device);
    if (auto& device_peaks = content.device_peaks)
      json.key("peaks").object([&] {
        json.member("bytes", device_peaks->bytes_per_second).member("ops", device_peaks->operations_per_second);
      });
    if (!content.item_seconds.empty()) json.member("measured", content.item_seconds);
  });
}

std::string compress_text(std::string_view text, bool is_mostly_numbers) {
  z_stream stream = {};
  const int strategy = is_mostly_numbers ? Z_FILTERED : Z_DEFAULT_STRATEGY;
  const int memory = is_mostly_numbers ? 5 : 8;  // 5: smaller blocks, so that columns have their own Huffman codes
  if (deflateInit2(&stream, kCompressionLevel, Z_DEFLATED, MAX_WBITS, memory, strategy) != Z_OK)
    throw Failure("zlib has no memory");
  std::string out(deflateBound(&stream, uLong(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data())), stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data()), stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string encode_bytes(std::string_view bytes) {
  std::string letters;  // printable characters that need no escape in <script>
  for (char c = '!'; c <= '~'; c++)
    if (c != '&' && c != '<' && c != '\\') letters += c;
  std::string out;
  out.reserve(bytes.size() * 16 / 13 + 2);
  uint32_t bits = 0;
  int have = 0;
  auto put_pair = [&](uint32_t value) { out += letters[value % 91], out += letters[value / 91]; };
  for (char c : bytes) {
    bits |= uint32_t(uint8_t(c)) << have, have += 8;
    if (have >= 13) put_pair(bits & 0x1fff), bits >>= 13, have -= 13;
  }
  if (have > 6) put_pair(bits);
  else if (have) out += letters[bits];
  return out;
}

std::string encode_graph(const RecordedGraph& g) {
  return encode_bytes(compress_text(g.data_json, g.is_tensor_graph)) + " " +
         encode_bytes(compress_text(g.events_json, g.is_tensor_graph));
}

std::string html_data_element(const std::string& id, const std::string& letters) {
  return "<script type=\"application/octet-stream\" id=\"" + id + "\">" + letters + "</script>\n";
}

namespace {

struct GraphRange {
  size_t begin, end;
};

// Tensor graphs, large graphs, graphs that are not compiled yet, and those of a page with few graphs are groups of
// their own.
std::vector<GraphRange> group_graphs(const std::vector<RecordedGraph>& graphs) {
  std::vector<GraphRange> out;
  const size_t most = graphs.size() < kFewGraphs ? 1 : kMostInGroup;
  auto is_alone = [](const RecordedGraph& g) { return g.is_tensor_graph || g.data_json.empty(); };
  for (size_t i = 0, bytes = 0; i < graphs.size(); i++) {
    const size_t own = graphs[i].data_json.size() + graphs[i].events_json.size();
    const bool fits = !out.empty() && i - out.back().begin < most && bytes + own <= kMostGroupBytes;
    if (!fits || is_alone(graphs[i]) || is_alone(graphs[out.back().begin])) out.push_back({i, i}), bytes = 0;
    out.back().end = i + 1, bytes += own;
  }
  return out;
}

// Joins the documents of several graphs to one: each member is an array with this member of every document, or null.
// zlib compresses this better, because similar parts are near each other.
std::string join_by_member(std::span<const RecordedGraph> graphs, std::string RecordedGraph::* document) {
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string_view>, std::less<>> columns;
  for (size_t i = 0; i < graphs.size(); i++) {
    JsonScanner in(graphs[i].*document, "", 1);
    in.object([&](std::string_view key) {
      auto at = columns.find(key);
      if (at == columns.end()) {
        at = columns.try_emplace(std::string(key), graphs.size(), "null").first;
        keys.emplace_back(key);
      }
      at->second[i] = in.skip_any();
    });
  }
  return json_object([&](JsonWriter& json) {
    for (const std::string& key : keys)
      json.key(key).array([&] {
        for (std::string_view value : columns.find(key)->second) json.raw_json(value);
      });
  });
}

std::string encode_group(std::span<const RecordedGraph> graphs) {
  return encode_bytes(compress_text(join_by_member(graphs, &RecordedGraph::data_json), true)) + " " +
         encode_bytes(compress_text(join_by_member(graphs, &RecordedGraph::events_json), true));
}

}  // namespace

std::string make_view_page(std::string_view page_code, const ViewContent& content, unsigned num_jobs) {
  size_t mark = page_code.find(kDataPlaceholder);
  std::string out(page_code.substr(0, mark));
  out += html_data_element("index", encode_bytes(compress_text(view_index_json(content))));
  const std::vector<RecordedGraph>& graphs = content.graphs;
  const std::vector<GraphRange> groups = group_graphs(graphs);
  std::vector<std::string> letters(groups.size());
  auto pack = [&](size_t i) {
    const auto [first, last] = groups[i];
    if (last - first > 1) letters[i] = encode_group(std::span(graphs).subspan(first, last - first));
    else if (!graphs[first].data_json.empty()) letters[i] = encode_graph(graphs[first]);
  };
  parallel_for(groups.size(), num_jobs, pack).value_or_throw();
  for (size_t i = 0; i < groups.size(); i++) {
    const auto [first, last] = groups[i];
    const std::string id = last - first > 1 ? "s" + std::to_string(first) + "-" + std::to_string(last)
                                            : std::to_string(first);
    if (!letters[i].empty()) out += html_data_element("graph" + id, letters[i]);
  }
  if (mark != page_code.npos) out += page_code.substr(mark + kDataPlaceholder.size());
  return out;
}

}  // namespace tgc
