"""A gate's verdict for machines that run tests and for pull requests."""

from xml.etree import ElementTree

from orchestrator.analysis.gate import Gate


def junit(gate: Gate) -> str:
    """JUnit XML: one test case for each check; one that could not be decided is an error."""
    failures = sum(check.holds is False for check in gate.checks)
    errors = sum(check.holds is None for check in gate.checks)
    suite = ElementTree.Element(
        "testsuite", name="passhat gate", tests=str(len(gate.checks)), failures=str(failures), errors=str(errors)
    )
    for check in gate.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=f"passhat.gate.{check.arm}", name=check.name)
        if check.holds is None:
            ElementTree.SubElement(case, "error", message=_xml(check.sentence))
        elif not check.holds:
            ElementTree.SubElement(case, "failure", message=_xml(check.sentence))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def markdown(gate: Gate) -> str:
    """A table for a pull request."""
    lines = [
        "### passhat gate: " + ("holds" if gate.holds else "fails"),
        "",
        "| check | arm | verdict | finding |",
        "|---|---|---|---|",
    ]
    words = {True: "holds", False: "**fails**", None: "**cannot be decided**"}
    for check in gate.checks:
        cells = (_cell(check.name), _cell(check.arm), words[check.holds], _cell(check.sentence))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
    return escaped.replace("`", "\\`").replace("[", "\\[")


def _xml(text: str) -> str:
    return "".join(c if c >= " " or c in "\t\n" else "?" for c in text)
