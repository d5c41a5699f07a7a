"""Vega, Vega-Lite and Vega-Embed as one script, for pages that open offline; knows nothing of charts.

Bundling takes two processor seconds for every page, so what the locked vl-convert bundles is shipped beside this
module (`make vega` writes it). With another vl-convert the script is bundled anew, since charts and script must match.
"""

from concurrent.futures import Future
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from threading import Thread

import vl_convert
import zstandard

SNIPPET = "window.vegaEmbed = vegaEmbed;"


def warm_up() -> None:
    """Begin, in the background, what every page needs and takes long: call it before aggregating."""
    _job()


def bundle() -> str:
    """The script, safe inside a script element."""
    text = _job().result()
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def shipped() -> str | None:
    """The script as it was bundled by the very vl-convert that is installed, or None."""
    file = files("orchestrator.report").joinpath(file_name())
    return zstandard.decompress(file.read_bytes()).decode() if file.is_file() else None


def bundled() -> str:
    """The script as the installed vl-convert bundles it, the same every time."""
    text: str = vl_convert.javascript_bundle(SNIPPET)
    return text


def file_name() -> str:
    return f"vega-by-vl-convert-{version('vl-convert-python')}.js.zst"


@cache
def _job() -> Future[str]:
    job: Future[str] = Future()
    Thread(target=_work, args=(job,), daemon=True).start()
    return job


def _work(job: Future[str]) -> None:
    try:
        job.set_result(shipped() or bundled())
        # The first picture takes half a second; let nobody wait for it.
        vl_convert.vegalite_to_svg({"data": {"values": [{}]}, "mark": "point"})
    except Exception as error:  # noqa: BLE001 - whoever asks for the bundle gets it
        if not job.done():
            job.set_exception(error)


def ship(folder: Path) -> Path:
    """Write the script where `shipped` looks for it, and remove those of other versions."""
    for old in folder.glob("vega-by-vl-convert-*.js.zst"):
        old.unlink()
    target = folder / file_name()
    target.write_bytes(zstandard.compress(bundled().encode(), 22))
    return target


if __name__ == "__main__":
    print(ship(Path(__file__).parent))
