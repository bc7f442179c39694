#include "renderers/text_renderer.h"

#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/support/counted.h"
#include "lib/support/pytext.h"
#include "renderers/names.h"

namespace tgc {

void TextPieceBuffer::grow(size_t n) {
  size_t used = size(), room = std::max<size_t>(2 * (used + n), 1 << 13);
  auto larger = std::make_unique_for_overwrite<char[]>(room + kTextChunkBytes);
  if (used) std::memcpy(larger.get(), text_begin_, used);
  text_begin_ = larger.get(), end_of_text_ = text_begin_ + used, block_end_ = text_begin_ + room;
  text_blocks_.push_back(std::move(larger));
}

void TextRenderer::throw_cannot_render(UOp u, std::string_view why) const {
  std::string message = "the " + target_.name() + " renderer cannot express Ops." + std::string(name_of(u.op())) +
                        " of " + std::string(u.dtype().repr());
  if (!why.empty()) message.append(": ").append(why);
  throw Failure(Diag{.message = message, .context = describe(u, 1)});
}

void TextRenderer::throw_not_in_list(UOp u) const {
  throw Failure(Diag{.message = "a node of the linear list has a source that is missing or comes later",
                     .context = describe(u, 1)});
}

bool TextRenderer::accept_unprinted_node(UOp u, std::string& function_name) {
  if (u.is(Op::AFTER)) share_text(u, u.src(0));
  if (u.is(Op::SINK) && !u.arg().is_none()) function_name = function_name_of(u);
  return u.in({Op::NOOP, Op::GROUP, Op::AFTER, Op::SINK});
}

bool is_gated_load(UOp u) {
  return u.num_src() >= 2 && index_of_load(u).is(Op::INDEX) && index_of_load(u).num_src() == 3;
}

std::string function_name_of(UOp sink) {
  if (!sink.arg().is(RecordClass::KernelInfo)) return "test";
  std::string name = to_function_name(sink.arg()[0].text());
  check_function_name(name, sink);
  return name;
}

Int launch_bounds_of(std::span<const UOp> list) {
  Int bounds = 1;
  for (UOp u : list)
    if (u.is(Op::SPECIAL) && u.arg().text().starts_with('l')) bounds *= u.src(0).vmax().to_int();
  return bounds;
}

std::vector<DType> value_dtypes_of(std::span<const UOp> list) {
  std::vector<DType> out;
  DType last = dtypes::void_;
  bool has_void = false;
  for (UOp u : list) {
    DType d = u.dtype();
    if ((d == last && (has_void || d != dtypes::void_)) || d.is_ptr()) continue;
    last = d, has_void |= d == dtypes::void_;
    if (std::find(out.begin(), out.end(), d) == out.end()) out.push_back(d);
  }
  return out;
}

bool is_dtype_used(std::span<const UOp> list, DType base) {
  return std::any_of(list.begin(), list.end(), [&](UOp u) { return u.dtype().base() == base; });
}

int64_t WmmaUse::num_elements(size_t i) const {
  Int size = 1;
  for (const Arg& axis : upcast_axes[i].items()) size *= axis[1].as_int();
  return size.int64_or_throw("the number of elements of a tensor core's operand");
}

std::vector<WmmaUse> find_wmma_uses(std::span<const UOp> list) {
  std::vector<WmmaUse> out;
  for (UOp u : list) {
    if (!u.is(Op::WMMA)) continue;
    const Arg& a = u.arg();
    auto dim = [&](size_t i) { return a[1][i].small_int(); };
    WmmaUse use{a[0].text(), dim(0), dim(1), dim(2), a[2].dtype(), u.dtype().scalar(), a[4], a[5], a[6], a[7]};
    if (std::find(out.begin(), out.end(), use) == out.end()) out.push_back(use);
  }
  return out;
}

std::string format_like_python(std::string_view text, std::span<const std::string_view> args) {
  std::string out;
  size_t next = 0;
  bool has_numbered = false;
  auto refuse = [&](const std::string& why) {
    throw Failure("cannot format " + std::to_string(args.size()) + " values with the text '" + std::string(text) +
                  "': " + why);
  };
  for (size_t i = 0; i < text.size(); i++) {
    char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      i++;
    } else if (c == '}') {
      refuse("a single '}'");
    } else {
      size_t close = text.find('}', i);
      if (close == text.npos) refuse("a single '{'");
      std::string_view field = text.substr(i + 1, close - i - 1);
      size_t index = next;
      if (field.empty()) {
        next++;
      } else {
        const auto number = parse_number<size_t>(field);
        if (!number) refuse("the field {" + std::string(field) + "} is not a number");
        index = *number, has_numbered = true;
      }
      if (next > 0 && has_numbered) refuse("some fields have a number, and others do not");
      if (index >= args.size()) refuse("there is no value " + std::to_string(index));
      out += args[index];
      i = close;
    }
  }
  return out;
}

}  // namespace tgc
