#include "apps/tgc/view_page.h"

// The file as bytes of this program, by the assembler: TGC_VIEW_PAGE names it.
asm(".section .rodata\n"
    ".global tgc_view_page_begin\n.global tgc_view_page_end\n"
    "tgc_view_page_begin:\n.incbin \"" TGC_VIEW_PAGE "\"\ntgc_view_page_end:\n"
    ".section .text\n");

extern "C" const char tgc_view_page_begin[], tgc_view_page_end[];

namespace tgc {

std::string_view view_page_code() { return {tgc_view_page_begin, size_t(tgc_view_page_end - tgc_view_page_begin)}; }

}  // namespace tgc
