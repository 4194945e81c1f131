"""Headless Chromium: opens a page of `explore`, runs a program in it, and gives its answer."""

import json
import os
import re
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
needs_browser = pytest.mark.skipif(
    not BROWSER, reason="no Chromium here: install it (Debian: apt-get install chromium)"
)

# What a test does in the page; its answer becomes the page's only text.
HARNESS = """<script>
const press = name => new KeyboardEvent("keydown", {key: name, bubbles: true});
const key = name => document.dispatchEvent(press(name));
const words = () => [...document.querySelectorAll("#sums p")].map(p => p.textContent);
const errors = [];
addEventListener("error", event => errors.push(event.message));
const wait = ms => new Promise(done => setTimeout(done, ms));
const select = label => choose(boxes.findIndex(box => box.label === label));
const slide = (x, k = 0) => {
  const choice = document.querySelector("#tools select");
  if (choice) { choice.value = k; choice.dispatchEvent(new Event("change")); }
  const slider = document.querySelector(".slide");
  slider.min = x - 1; slider.max = x + 1; slider.step = "any"; slider.value = x;
  slider.dispatchEvent(new Event("input"));
};
(async () => {
  let answer;
  try { answer = await (async () => { %s })(); } catch (error) { answer = {error: error.stack}; }
  const pre = document.createElement("pre");
  pre.id = "answer";
  pre.textContent = JSON.stringify({answer, errors});
  document.body.replaceChildren(pre);
  if (parent !== window) parent.postMessage(pre.textContent, "*");
})();
</script></body>"""
# A page that shows another one as wide as a phone; Chromium's own windows are not so narrow.
PHONE = """<iframe src="opened.html" style="width:390px;height:800px;border:0"></iframe>
<pre id="answer"></pre>
<script>onmessage = event => { document.querySelector("pre").textContent = event.data; };</script>
"""


def answer_of(path, program, *flags, phone=False):
    """The answer of a JavaScript program that runs in the page `path`; errors fail. phone: the
    page is 390 pixels wide."""
    text = path.read_text(encoding="utf-8").replace("</body>", HARNESS.replace("%s", program))
    opened = path.with_name("opened.html")
    opened.write_text(text, encoding="utf-8")
    if phone:
        opened = path.with_name("phone.html")
        opened.write_text(PHONE, encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=30000", f"--user-data-dir={path.parent / 'profile'}"]
    done = subprocess.run(
        [*command, *flags, opened.as_uri()], capture_output=True, encoding="utf-8", timeout=120
    )
    found = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    told = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert told["errors"] == []
    error = told["answer"].get("error") if isinstance(told["answer"], dict) else None
    assert error is None, error
    return told["answer"]
