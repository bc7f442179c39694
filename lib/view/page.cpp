#include "lib/view/page.h"

#include <zlib.h>

#include "lib/support/json_writer.h"
#include "lib/support/version.h"

namespace tgc {

std::string view_index(const ViewContent& content) {
  std::string out;
  JsonWriter json(out);
  json.object([&] {
    json.member("format", "tgc-view").member("version", 1);
    json.member("tgc", tgc_version()).member("tinygrad", tinygrad_version()).member("title", content.title);
    json.key("graphs").array([&] {
      for (const RecordedGraph& g : content.graphs)
        json.object([&] {
          json.member("name", g.name).member("target", g.target).member("made_for", g.made_for);
          json.member("kind", g.is_tensor_graph ? "tensor" : "kernel").member("nodes", g.nodes);
          json.member("rewrites", g.rewrites).member("stages", g.stages).key("ms").number(g.ms, "%.3f");
          json.member("error", g.error).member("ops", g.ops).member("mem", g.mem);
          json.member("numbers", g.numbers).member("side", g.side);
        });
    });
    if (!content.schedule.empty()) json.key("schedule").raw(content.schedule);
  });
  return out;
}

std::string packed(std::string_view text) {
  uLongf size = compressBound(uLong(text.size()));
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
            uLong(text.size()), 6);
  out.resize(size);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; k++) three = three << 8 | (k < have ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) out += k <= have ? kLetters[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string view_page(std::string_view page_code, const ViewContent& content) {
  size_t mark = page_code.find(kDataMark);
  std::string out(page_code.substr(0, mark));
  auto add = [&](const std::string& id, std::string_view json) {
    out += "<script type=\"application/octet-stream\" id=\"" + id + "\">" + base64(packed(json)) + "</script>\n";
  };
  add("index", view_index(content));
  for (size_t i = 0; i < content.graphs.size(); i++)
    if (!content.graphs[i].data.empty()) add("graph" + std::to_string(i), content.graphs[i].data);
  if (mark != page_code.npos) out += page_code.substr(mark + kDataMark.size());
  return out;
}

}  // namespace tgc
