-- Starts `tgc lsp` for graphs and recordings. Load it from init.lua: dofile("/path/to/editors/neovim/tgc.lua")
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = { "*.uop", "*.uops", "*.repr", "*.repro", "*.jsonl" },
  callback = function(event)
    local first = vim.api.nvim_buf_get_lines(event.buf, 0, 1, false)[1] or ""
    if not event.file:match("%.jsonl$") or first:find("tgc%-golden") then vim.bo[event.buf].filetype = "tgc" end
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  pattern = "tgc",
  callback = function(event)
    local config = { name = "tgc", cmd = { vim.g.tgc_path or "tgc", "lsp" }, root_dir = vim.fn.getcwd(),
      init_options = { tinygrad = vim.g.tgc_tinygrad } }
    if vim.lsp.start then
      vim.lsp.start(config)
    else  -- before 0.8: one server for all buffers
      vim.g.tgc_client = vim.g.tgc_client or vim.lsp.start_client(config)
      vim.lsp.buf_attach_client(event.buf, vim.g.tgc_client)
    end
    vim.lsp.codelens.refresh()
    vim.keymap.set("n", "K", vim.lsp.buf.hover, { buffer = event.buf })
    vim.keymap.set("n", "gd", vim.lsp.buf.definition, { buffer = event.buf })
    vim.keymap.set("n", "gi", vim.lsp.buf.implementation, { buffer = event.buf })  -- the rule that made the node
    vim.keymap.set("n", "<leader>r", vim.lsp.buf.rename, { buffer = event.buf })
    vim.bo[event.buf].omnifunc = "v:lua.vim.lsp.omnifunc"
    vim.keymap.set("n", "gr", vim.lsp.buf.references, { buffer = event.buf })
    vim.keymap.set("n", "<leader>t", vim.lsp.codelens.run, { buffer = event.buf })  -- run, bisect or view
  end,
})
