// Starts `tgc lsp` for graphs and recordings, and shows what its commands print.
"use strict";
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate(context) {
  const output = vscode.window.createOutputChannel("tgc");
  context.subscriptions.push(output);
  const settings = vscode.workspace.getConfiguration("tgc"), program = settings.get("path");
  client = new LanguageClient("tgc", "tgc", { command: program, args: ["lsp"] }, {
    documentSelector: [{ language: "tgc" }, { language: "tgc-recording" }],
    outputChannel: output,
    initializationOptions: { tinygrad: settings.get("tinygrad") },
    middleware: {
      async executeCommand(command, args, next) {
        const result = await next(command, args);
        if (result) output.show(true);  // the server has written the text there
        return result;
      },
    },
  });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
