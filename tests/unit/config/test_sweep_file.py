"""A sweep file that cannot be used is refused with one sentence that names the file, the key and the value."""

from pathlib import Path

import pytest

from orchestrator.config import ConfigError, load_sweep, parse_sweep

HEAD = 'name = "s"\nsuite = "tasks"\n'
AGENTS = 'agents = [{ name = "a", kind = "oracle" }]\n'


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_sweep(text, "sweep.toml")
    return str(caught.value)


def setting(line: str) -> str:
    return f'[[resources]]\nname = "r"\n{line}'


BAD = [
    ("colour = 1", "colour is not a key"),
    ("repeats = 'many'", "repeats = 'many': "),
    ("repeats = 0", "repeats = 0: "),
    ("repeats = 1.5", "repeats = 1.5: "),
    ("seed = -1", "seed = -1: "),
    ("timeout_multiplier = nan", "timeout_multiplier = nan: "),
    ("timeout_multiplier = inf", "timeout_multiplier = inf: "),
    ("timeout_multiplier = -2.0", "timeout_multiplier = -2.0: "),
    ("order = 'random'", "order = 'random': Input should be 'blocked' or 'longest_first'"),
    ("lanes = ['dead']", "lanes.0 = 'dead': "),
    ("lanes = []", "lanes = []: "),
    ("lanes = ['live', 'live']", "lanes: the name 'live' is used twice"),
    (setting("color = 1"), "resources.0.color is not a key"),
    (setting("headroom = 0.9"), "resources.0.headroom = 0.9: a limit below the promise"),
    (setting("headroom = nan"), "resources.0.headroom = nan: "),
    (setting("headroom = 'lots'"), "resources.0.headroom = 'lots': "),
    (setting("memory_mb = -4"), "resources.0.memory_mb = -4: "),
    (setting("pids_limit = 0"), "resources.0.pids_limit = 0: "),
    (setting("pinned = true\ncpus_limit = 2"), "resources.0: pinned cores are their own limit"),
    (setting("[[resources]]\nname = 'r'"), "resources: the name 'r' is used twice"),
    ("[[resources]]\nname = 'a/b'", "resources.0.name = 'a/b': "),
    ("[budget]\nusd = 0", "budget.usd = 0: "),
    ("[budget]\ntrials = 0", "budget.trials = 0: "),
    ("[budget]\nhours = -1", "budget.hours = -1: "),
    ("[retry]\ncauses = ['FAILED']", "retry.causes = ['FAILED']: FAILED: only "),
    ("[retry]\ncauses = ['AGENT_TIMEOUT', 'LOST']", "AGENT_TIMEOUT: only "),
    ("[retry]\nmax = -1", "retry.max = -1: "),
    ("[retry]\nbackoff_s = nan", "retry.backoff_s = nan: "),
    ("[schedule]\nwaves = 2", "schedule: more than one wave needs every, at or cron"),
    ("[schedule]\ncron = '0 3 * * *'\nevery = '1d'", "schedule: cron contradicts every/at"),
    ("[schedule]\nevery = 'daily'", "schedule.every = 'daily': "),
    ("[schedule]\nat = ['25:00']", "schedule.at.0 = '25:00': "),
    ("[schedule]\nevery = '6h'\nat = ['03:00']", "schedule: at = ['03:00'] needs every to be whole days"),
    ("[schedule]\ncron = 'nightly'", "schedule: cron = 'nightly' is not a cron expression"),
    ("[schedule]\ntimezone = 'Mars'", "schedule: timezone 'Mars' is not known"),
    ("[schedule]\nstart = 'tomorrow'", "schedule: start = 'tomorrow' is not a time"),
    ("[hooks]\nwebhook = 'example.org'", "hooks.webhook = 'example.org': "),
    ("[model.scripted]\nsuccess = { m = 1.5 }", "model.scripted.success.m = 1.5: "),
]
BAD_AGENTS = [
    ("", "agents is missing"),
    ("agents = []", "agents = []: "),
    ("agents = 'oracle'", "agents = 'oracle': "),
    ("agents = [{ name = 'a', kind = 'wizard' }]", "agents.0: Input tag 'wizard'"),
    ("agents = [{ name = 'a' }]", "agents.0: "),
    ("agents = [{ name = 'a', kind = 'oracle', speed = 1 }]", "agents.0.speed is not a key"),
    ("agents = [{ name = 'a', kind = 'nop' }, { name = 'a', kind = 'oracle' }]", "agents: the name 'a' is used twice"),
    (
        "agents = [{ name = 'a', kind = 'nop' }, { name = 'b', kind = 'nop' }]",
        "agents 'a' and 'b' have the same settings",
    ),
]


@pytest.mark.parametrize(
    ("text", "word"),
    [(HEAD + AGENTS + text, word) for text, word in BAD] + [(HEAD + text, word) for text, word in BAD_AGENTS],
)
def test_one_sentence_names_the_file_the_key_and_the_value(text: str, word: str) -> None:
    message = fault(text)
    assert len(message.splitlines()) == 1
    assert message.startswith("sweep.toml: ")
    assert word in message


def test_two_faults_are_two_sentences() -> None:
    assert len(fault(HEAD + AGENTS + "seed = -1\nrepeats = 0").splitlines()) == 2


def test_what_is_no_toml_says_where() -> None:
    assert fault("name = = 1").startswith("sweep.toml: not valid TOML: ")


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    with pytest.raises(ConfigError, match=r"sweep.toml: cannot be read .*passhat init"):
        load_sweep(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_sweep(path)


def test_paths_are_taken_from_the_files_folder(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(HEAD + AGENTS)
    found = load_sweep(path)
    assert (found.suite.path, found.results) == (str(tmp_path / "tasks"), str(tmp_path / "results"))
    path.write_text(HEAD + AGENTS + 'results = "s3://bucket/x"\n')
    assert load_sweep(path).results == "s3://bucket/x"


def test_defaults_are_one_repeat_in_one_wave_on_one_setting() -> None:
    found = parse_sweep(HEAD + AGENTS, "sweep.toml")
    assert (found.repeats, found.schedule.waves, found.order, found.lanes) == (1, 1, "blocked", ("live",))
    assert [(s.name, s.headroom) for s in found.resources] == [("1x", 1.0)]
    assert found.retry.max == 2
