"""The script in reports is the one that the locked vl-convert makes, and cannot end the element it stands in."""

import vl_convert

from orchestrator.report import vega


def test_the_shipped_script_is_what_the_installed_vl_convert_bundles() -> None:
    assert vega.shipped() == vega.bundled(), "vl-convert has changed: write the script anew by `make vega`"


def test_another_vl_convert_bundles_its_own_script(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(vega, "file_name", lambda: "vega-by-vl-convert-0.0.js.zst")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: f"/* </script><!-- */{snippet}")
    monkeypatch.setattr(vega, "_job", vega.cache(vega._job.__wrapped__))
    assert vega.shipped() is None
    assert vega.bundle() == f"/* <\\/script><\\!-- */{vega.SNIPPET}"
    (tmp_path / "vega-by-vl-convert-0.1.js.zst").write_bytes(b"old")
    assert vega.ship(tmp_path).name == "vega-by-vl-convert-0.0.js.zst"
    assert [file.name for file in tmp_path.iterdir()] == ["vega-by-vl-convert-0.0.js.zst"]
