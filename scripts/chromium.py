"""Drives a headless Chromium through its DevTools protocol, over two pipes."""
import base64, json, os, select, shutil, subprocess, tempfile, time


TIMEOUT = 120  # seconds to wait for an answer; high, because a busy machine is slow


class PageError(Exception): pass


def exception_text(message):
  details = message["params"]["exceptionDetails"]
  return details.get("exception", {}).get("description", details["text"])


class Chromium:
  """A browser with one page, for a `with` block."""

  # --kiosk and WebUIOmnibox: without toolbar and the address bar's popup, a page takes less processor time to open.
  def __init__(self, width=1400, height=900, dark=False):
    program = shutil.which("chromium")
    if not program: raise PageError("there is no chromium; run scripts/setup")
    self.folder = tempfile.mkdtemp(prefix="tgc-chromium-")
    to_browser, self.to = os.pipe()
    self.answers, from_browser = os.pipe()

    def connect_pipes():  # the browser reads from descriptor 3 and writes to 4
      read, write = os.dup(to_browser), os.dup(from_browser)
      os.dup2(read, 3), os.dup2(write, 4)

    self.process = subprocess.Popen(
      [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
       "--kiosk", "--disable-features=IsolateSandboxedIframes,WebUIOmniboxPopup,WebUIOmniboxAimPopup", "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={self.folder}",
       f"--window-size={width},{height}", "about:blank"],
      preexec_fn=connect_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_browser), os.close(from_browser)
    self.number, self.buffer = 0, b""
    self.events, self.uncaught = [], []  # uncaught: exceptions of all pages opened so far
    target = self.call("Target.createTarget", url="about:blank")["targetId"]
    self.session = None
    self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Network", "Log"): self.call(domain + ".enable")
    self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

  def __enter__(self): return self

  def __exit__(self, *_):
    try: self.call("Browser.close", whole=True)
    except (PageError, OSError): pass
    try: self.process.wait(10)
    except subprocess.TimeoutExpired: self.process.kill()
    os.close(self.to), os.close(self.answers)
    shutil.rmtree(self.folder, ignore_errors=True)

  def call(self, method, whole=False, **params):
    """Calls a method of the protocol, on the page or (with `whole`) on the browser."""
    self.number += 1
    message = {"id": self.number, "method": method, "params": params}
    if getattr(self, "session", None) and not whole: message["sessionId"] = self.session
    os.write(self.to, json.dumps(message).encode() + b"\0")
    return self._wait(lambda m: m.get("id") == self.number, method)

  def _wait(self, wanted, what, seconds=TIMEOUT):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
      while b"\0" in self.buffer:
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message: self.events.append(message)
        if message.get("method") == "Runtime.exceptionThrown": self.uncaught.append(exception_text(message))
        if not wanted(message): continue
        if "error" in message: raise PageError(f"{what}: {message['error']}")
        return message.get("result", message)
      if select.select([self.answers], [], [], 0.2)[0]:
        more = os.read(self.answers, 1 << 20)
        if not more: raise PageError("the browser has ended")
        self.buffer += more
    raise PageError(f"no answer within {seconds} s: {what}")

  def open(self, url):
    """Opens a page and waits until it has read its whole graph and drawn it, or has a frame."""
    left = self.value("window.isLeft = true, location.href")
    if left.split("#")[0] == url.split("#")[0]: self.call("Page.navigate", url="about:blank")
    self.events.clear()
    self.call("Page.navigate", url=url)
    self.until("!window.isLeft && document.body && (document.body.dataset.whole || document.querySelector('iframe'))")

  def until(self, condition, seconds=TIMEOUT, frame=None):
    end = time.monotonic() + seconds
    while not self.value(f"!!({condition})", frame):
      if time.monotonic() > end: raise PageError(f"not true within {seconds} s: {condition}; {self.troubles()}")
      time.sleep(0.02)

  def frame(self, seconds=TIMEOUT):
    """Waits for a frame inside the page, and returns its context for value()."""
    top = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]

    def made():
      contexts = [e["params"]["context"] for e in self.events if e["method"] == "Runtime.executionContextCreated"]
      return [c["id"] for c in contexts if c["auxData"]["frameId"] != top]

    end = time.monotonic() + seconds
    while not made():
      if time.monotonic() > end: raise PageError(f"no frame within {seconds} s")
      self.value("0")  # reads events
    return made()[-1]

  def value(self, expression, frame=None):
    """Evaluates a JavaScript expression, awaits a promise, and returns the value."""
    where = {} if frame is None else {"contextId": frame}
    out = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, **where)
    if "exceptionDetails" in out:
      details = out["exceptionDetails"]
      raise PageError(details.get("exception", {}).get("description", details["text"]))
    return out["result"].get("value")

  def click(self, x, y):
    for kind in ("mousePressed", "mouseReleased"):
      self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

  def key(self, key, shift=False):
    code = {" ": "Space"}.get(key, key)
    text = key if len(key) == 1 else ""
    for kind in ("keyDown", "keyUp"):
      self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, modifiers=8 if shift else 0, **({"text": text} if text and kind == "keyDown" else {}))

  def tasks(self, act):
    """Calls act(). Returns the processor milliseconds of each task of the page's main thread meanwhile, longest
    first. Chromium sometimes loses the trace on a busy machine: then calls act() again, at most twice."""
    for _ in range(3):
      if found := self._traced_tasks(act): return found
    raise PageError("the traces have no tasks of the page")

  def _traced_tasks(self, act):
    first = len(self.events)
    self.call("Tracing.start", whole=True, categories="toplevel,blink.user_timing", transferMode="ReportEvents")
    mark = "performance.mark('of the page'), 0"  # identifies the page's thread among the main threads
    self.value(mark)
    act()
    self.value(mark)
    self.value("new Promise(r => requestAnimationFrame(() => setTimeout(r, 50)))")
    self.call("Tracing.end", whole=True)
    self._wait(lambda m: m.get("method") == "Tracing.tracingComplete", "the trace")
    seen = [x for e in self.events[first:] if e["method"] == "Tracing.dataCollected" for x in e["params"]["value"]]
    main = {(x["pid"], x["tid"]) for x in seen if x["name"] == "of the page"}
    return sorted((x.get("tdur", 0) / 1000 for x in seen if x["name"].endswith("RunTask") and (x["pid"], x["tid"]) in main), reverse=True)

  def screenshot(self, path):
    self.value("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    with open(path, "wb") as f: f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

  def requests(self):
    """Returns the addresses that the page requested, including its own."""
    return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

  def troubles(self):
    """Returns errors in the browser's log and uncaught exceptions since the page was opened, in order."""
    out = []
    for e in self.events:
      if e["method"] == "Runtime.exceptionThrown": out.append(exception_text(e))
      if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error": out.append(e["params"]["entry"]["text"])
    return out
