"""SVG text as PNG or PDF, by a converter of this machine; twice as fine as on a screen."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL, PIPE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Chromium's own limit for a screenshot.
PIXELS = 16_000


def converted(svg: str, kind: str) -> bytes:
    """SVG text as "png" or "pdf". Raises ImportError where no converter is installed."""
    for convert in (by_rsvg, by_cairosvg, by_inkscape, by_browser):
        made = convert(svg, kind)
        if made is not None:
            return made
    raise ImportError(
        f"Drawing.save: a .{kind} needs a converter; install one (`pip install cairosvg`, or "
        "Debian's librsvg2-bin, inkscape or chromium), or save a .svg, which every browser opens"
    )


def by_rsvg(svg: str, kind: str) -> bytes | None:
    program = shutil.which("rsvg-convert")
    return piped([program, "--format", kind, "--zoom", "2"], svg) if program else None


def by_inkscape(svg: str, kind: str) -> bytes | None:
    program = shutil.which("inkscape")
    options = ["--pipe", f"--export-type={kind}", "--export-dpi=192", "--export-filename=-"]
    return piped([program, *options], svg) if program else None


def piped(command: list[str], svg: str) -> bytes:
    """What a program makes of the text."""
    return subprocess.run(command, input=svg.encode(), stdout=PIPE, check=True).stdout


def by_cairosvg(svg: str, kind: str) -> bytes | None:
    try:
        cairosvg = import_module("cairosvg")
    except ImportError:
        return None
    convert: Callable[..., bytes] = cairosvg.svg2png if kind == "png" else cairosvg.svg2pdf
    return bytes(convert(bytestring=svg.encode(), scale=2))


def by_browser(svg: str, kind: str) -> bytes | None:
    """By headless Chromium, on a page of the picture's own size; None for a PNG that is larger
    than it can make."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    wide, high = (int(x) for x in re.findall(r' (?:width|height)="(\d+)"', svg)[:2])
    if program is None or (kind == "png" and 2 * max(wide, high) > PIXELS):
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        page, made = Path(name, "page.html"), Path(name, f"made.{kind}")
        paper = f"@page{{size:{wide}px {high}px;margin:0}}body{{margin:0}}svg{{display:block}}"
        page.write_text(f"<meta charset=utf-8><style>{paper}</style>{svg}", encoding="utf-8")
        option = "--screenshot" if kind == "png" else "--no-pdf-header-footer --print-to-pdf"
        options = [*f"{option}={made}".split(), f"--window-size={wide},{high}"]
        options += ["--headless", "--disable-gpu", "--hide-scrollbars"]
        options += ["--force-device-scale-factor=2", f"--user-data-dir={name}/profile"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium has none for root
        subprocess.run([program, *options, page.as_uri()], check=True, stderr=DEVNULL, timeout=120)
        return made.read_bytes()
