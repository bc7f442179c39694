"""A small client of `tgc lsp` for tests, without dependencies."""
import itertools, json, pathlib, queue, subprocess, threading, time


class Client:
  def __init__(self, command, capabilities=None, initializationOptions=None, **popen):
    self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
    self.ids, self.answers, self.notified, self.requests = itertools.count(1), {}, queue.Queue(), []
    self.arrived = threading.Condition()
    self.closed = False
    threading.Thread(target=self._read, daemon=True).start()
    self.capabilities = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {},
                                                   "initializationOptions": initializationOptions})["capabilities"]
    self.notify("initialized", {})

  def _read(self):
    out = self.process.stdout
    while line := out.readline():
      length = 0
      while line.strip():
        if line.lower().startswith(b"content-length:"): length = int(line.split(b":")[1])
        line = out.readline()
      text = out.read(length)
      self.received = time.perf_counter()  # when the last message was received
      message = json.loads(text)
      with self.arrived:
        if "method" in message and "id" in message: self.requests.append(message)
        elif "method" in message: self.notified.put(message)
        else: self.answers[message["id"]] = message
        self.arrived.notify_all()
    with self.arrived:
      self.closed = True
      self.arrived.notify_all()

  def send(self, message):
    text = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
    self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
    self.process.stdin.flush()

  def notify(self, method, params): self.send({"method": method, "params": params})

  def begin(self, method, params):
    number = next(self.ids)
    self.send({"id": number, "method": method, "params": params})
    return number

  def answer(self, number, seconds=60):
    with self.arrived:
      if not self.arrived.wait_for(lambda: number in self.answers or self.closed, seconds): raise TimeoutError(f"no answer to request {number}")
      if number not in self.answers: raise EOFError("the server ended")
      return self.answers.pop(number)

  def request(self, method, params, seconds=60):
    """Raises RuntimeError if the answer is an error."""
    answer = self.answer(self.begin(method, params), seconds)
    if "error" in answer: raise RuntimeError(answer["error"])
    return answer["result"]

  def wait_for(self, method, seconds=60, of=lambda params: True):
    """Returns the parameters of the next notification `method` for which `of` holds."""
    end = time.monotonic() + seconds
    while True:
      message = self.notified.get(timeout=max(0.001, end - time.monotonic()))
      if message["method"] == method and of(message["params"]): return message["params"]

  def open(self, uri, text):
    """Returns the diagnostics of the text."""
    self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "tgc", "version": 1, "text": text}})
    return self.wait_for("textDocument/publishDiagnostics", of=lambda p: p["uri"] == uri)["diagnostics"]

  def change(self, uri, version, *changes):
    self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)})
    return self.wait_for("textDocument/publishDiagnostics", of=lambda p: p["uri"] == uri and p["version"] == version)["diagnostics"]

  def at(self, what, uri, line, character, **more):
    return self.request(f"textDocument/{what}", {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more})

  def of(self, what, uri): return self.request(f"textDocument/{what}", {"textDocument": {"uri": uri}})

  def end(self):
    self.request("shutdown", None)
    self.notify("exit", None)
    self.process.stdin.close()
    return self.process.wait(30)
