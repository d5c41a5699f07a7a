"""Makes a report with SWE-bench's own make_run_report, from reports of single instances written here.

pip install swebench==5.0.2, then python make_report.py in an empty folder.
"""

import json

from swebench.harness.constants import LOG_REPORT, LOG_TEST_OUTPUT, RUN_EVALUATION_LOG_DIR
from swebench.harness.reporting import make_run_report

MODEL, RUN = "agent-v1.5__claude", "nightly"
ENDINGS = {
    "astropy__astropy-12907": "resolved", "astropy__astropy-14182": "unresolved", "django__django-10914": "resolved",
    "django__django-11001": "resolved", "django__django-11019": "unresolved", "django__django-11099": "no engine",
    "django__django-11133": "no module", "django__django-11039": "empty patch",
    "pytest-dev__pytest-5221": "no report", "pytest-dev__pytest-5227": "torn report", "sympy__sympy-11400": "not run",
    "sympy__sympy-11870": "resolved",
}  # fmt: skip

SAID = {"no engine": "Cannot connect to the Docker daemon", "no module": "ModuleNotFoundError: No module named 'x'"}

predictions = {}
for task, ending in ENDINGS.items():
    if ending == "not run":
        continue
    patch = "" if ending == "empty patch" else "diff --git a/x b/x\n"
    predictions[task] = {"instance_id": task, "model_name_or_path": MODEL, "model_patch": patch}
    if ending in ("resolved", "unresolved", "torn report", *SAID):
        report = RUN_EVALUATION_LOG_DIR / RUN / MODEL / task / LOG_REPORT
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text("" if ending == "torn report" else json.dumps({task: {"resolved": ending == "resolved"}}))
        report.with_name(LOG_TEST_OUTPUT).write_text(SAID.get(ending, ""))
make_run_report(predictions, [{"instance_id": task} for task in ENDINGS], RUN)
