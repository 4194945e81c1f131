"""Reading the pages that `explore` writes."""

import json
import re

STORY = re.compile(r'<script type="application/json" id="story">(.*?)</script>', re.DOTALL)


def story_of(path):
    """The data of a page, as its own script reads them."""
    return json.loads(STORY.search(path.read_text(encoding="utf-8")).group(1))


def gradients_at_the_end(story):
    """The last gradient of each box, by its number, as the page's steps have it."""
    found = {}
    for step in story["steps"]:
        if step["do"] == "start":
            found[step["box"]] = step["arrived"][0][1]
        if step["do"] == "pass":
            found.update({part["to"]: part["after"] for part in step["given"]})
        if step["do"] == "keep":
            found[step["box"]] = step["after"]
    return found
