"""The questions and their reference answers, computed on the made world itself.

Each question is (level, text, form, options, answer). The solutions that ship compute the same answers from
the files, in another way (making/solutions.py); generate.py writes a task only where both agree.
"""

import itertools
import math
import statistics
from datetime import date


class Facts:
    """The world by name, and all fastest and cheapest ways (Floyd and Warshall)."""

    def __init__(self, world):
        self.world = world
        self.islands = {row[0]: row for row in world.islands}
        self.names = list(self.islands)
        self.ships = {row[0]: row for row in world.ships}
        self.minutes, self.fares = self.ways(2), self.ways(3)

    def group(self, name):
        return [row for row in self.world.islands if row[1] == name]

    def weather(self, island):
        return {row[1]: row for row in self.world.weather if row[0] == island}

    def governor(self, island, day):
        return next(w for w, i, first, last in self.world.governors if i == island and first <= day <= last)

    def ways(self, column, closed=()):
        names = [name for name in self.names if name not in closed]
        far = {(a, b): 0 if a == b else math.inf for a in names for b in names}
        for row in self.world.ferries:
            if row[0] in names and row[1] in names:
                length = row[column] if column else 1
                far[row[0], row[1]] = far[row[1], row[0]] = min(length, far[row[0], row[1]])
        for k, a, b in itertools.product(names, names, names):
            far[a, b] = min(far[a, b], far[a, k] + far[k, b])
        return far

    def path(self, start, end):
        far, lines = self.minutes, {}
        for one, other, minutes, *_ in self.world.ferries:
            lines[one, other] = lines[other, one] = minutes
        route, here = [start], start
        while here != end:
            steps = [b for (a, b), m in lines.items() if a == here and m + far[b, end] == far[here, end]]
            (here,) = steps
            route.append(here)
        return route


def number(unit=None, tolerance=0.0):
    options = {"unit": unit} if unit else {}
    return "number", {**options, "tolerance": tolerance} if tolerance else options


def questions(world, rng):
    facts = Facts(world)
    return [*level_one(facts, rng), *level_two(facts, rng), *level_three(facts, rng)]


def level_one(facts, rng):
    world, a, b, c, d = facts.world, *rng.sample(facts.names, 4)
    group, year = rng.choice(["North Reach", "Saltmark"]), rng.randrange(1996, 2024)
    lines = sum(a in row[:2] for row in world.ferries)
    big = sorted(world.islands, key=lambda row: -row[3])[:3]
    return [
        (1, f"How many people live on {a}?", *number(), facts.islands[a][3]),
        (1, f"What is the lowest temperature on record on {b}, in °C?", *number("°C"), facts.islands[b][6]),
        (1, f"On which date was {c} settled?", "date", {}, facts.islands[c][5]),
        (1, "Which island has the highest point of all?", "text", {}, max(world.islands, key=lambda r: r[4])[0]),
        (
            1,
            f"What is the area of all islands of {group} together, in km2?",
            *number("km2", 0.05),
            round(sum(row[2] for row in facts.group(group)), 1),
        ),
        (1, f"How many ferry lines call at {a}?", *number(), lines),
        (1, "Which ship was launched first?", "text", {}, min(world.ships, key=lambda row: row[2])[0]),
        (
            1,
            "Name the islands of Long Skerries in alphabetical order.",
            "list",
            {},
            sorted(row[0] for row in facts.group("Long Skerries")),
        ),
        (1, f"Who was governor of {d} on 1 July {year}?", "text", {}, facts.governor(d, f"{year}-07-01")),
        (
            1,
            f"How much rain fell on {d} in the whole of 2025, in mm?",
            *number("mm"),
            sum(row[3] for row in facts.weather(d).values()),
        ),
        (1, "Name the three islands with most people, the largest first.", "list", {}, [row[0] for row in big]),
        (
            1,
            "Which languages are spoken on the islands of Inner Sound? Name each once.",
            "set",
            {},
            sorted({row[7] for row in facts.group("Inner Sound")}),
        ),
    ]


def level_two(facts, rng):
    world, a, b, c = facts.world, *rng.sample(facts.names, 3)
    ship, month = rng.choice(list(facts.ships)), rng.randrange(2, 12)
    longest = max(world.ships, key=lambda row: row[3])
    weather = facts.weather(a)
    line = rng.choice(world.ferries)
    middle, end = line[0], line[1]
    start = rng.choice(
        sorted(
            {*(r[0] for r in world.ferries if r[1] == middle)}
            | {*(r[1] for r in world.ferries if r[0] == middle)} - {end}
        )
        or [end]
    )
    fare = {frozenset(row[:2]): row[3] for row in world.ferries}
    carried = sum(v[5] for v in world.voyages if facts.ships[v[1]][1] == "Heron Ferries" and int(v[4][5:7]) == month)
    visited = {
        s: {v[2] for v in world.voyages if v[1] == s} | {v[3] for v in world.voyages if v[1] == s} for s in facts.ships
    }
    most = max(len(found) for found in visited.values())
    travelled = sorted(s for s, found in visited.items() if len(found) == most)
    wet = {name: sum(row[3] for row in facts.weather(name).values()) for name in facts.names}
    limit = sorted(wet.values())[-9] - 1
    net = sum(v[6] for v in world.voyages if v[3] == b) - sum(v[6] for v in world.voyages if v[2] == b)
    gap = date.fromisoformat(facts.islands[b][5]) - date.fromisoformat(facts.islands[c][5])
    dense = max(world.islands, key=lambda row: row[3] / row[2])
    return [
        (
            2,
            f"How many people live on the island where the {ship} has her home?",
            *number(),
            facts.islands[facts.ships[ship][4]][3],
        ),
        (2, f"How many passengers did ships of Heron Ferries carry in month {month} of 2025?", *number(), carried),
        (
            2,
            "Who was governor of the home island of the longest ship on 15 May 2012?",
            "text",
            {},
            facts.governor(longest[4], "2012-05-15"),
        ),
        (
            2,
            f"By how many °C was the mean of January 2025 on {a} above that of July 2025 (negative when below)?",
            *number("°C", 0.05),
            round(weather[1][2] - weather[7][2], 1),
        ),
        (
            2,
            "On which date was the voyage with most passengers?",
            "date",
            {},
            max(world.voyages, key=lambda row: row[5])[4],
        ),
        (
            2,
            f"Which islands with fewer than 5,000 people had more than {limit} mm of rain in 2025?",
            "set",
            {},
            sorted(n for n in facts.names if wet[n] > limit and facts.islands[n][3] < 5000),
        ),
        (2, "Which island has most people per km2?", "text", {}, dense[0]),
        (
            2,
            f"What do the two direct ferries from {start} to {middle} and from {middle} to {end} cost together, in crowns (100 cents)?",
            *number("crowns"),
            f"{(fare[frozenset((start, middle))] + fare[frozenset((middle, end))]) / 100:.2f}",
        ),
        (
            2,
            "Which ships called (as origin or destination) at more different islands in 2025 than any other? Name all with the highest number.",
            "set",
            {},
            travelled,
        ),
        (
            2,
            "What is the median population of the islands of Saltmark?",
            *number(),
            statistics.median(row[3] for row in facts.group("Saltmark")),
        ),
        (
            2,
            f"How many tonnes of cargo arrived at {b} in 2025 beyond what left from there (negative when more left)?",
            *number("t", 0.05),
            round(net, 1),
        ),
        (2, f"How many days after {c} was {b} settled (negative when before)?", *number("days"), gap.days),
    ]


def level_three(facts, rng):
    far = facts.minutes
    pairs = [(x, y) for x in facts.names for y in facts.names if x < y and len(facts.path(x, y)) >= 4]
    (a, b), (c, d), (e, f), (g, h) = rng.sample(pairs, 4)
    hop = facts.ways(None)
    through = [n for n in facts.path(a, b)[1:-1] if facts.ways(2, (n,))[a, b] < math.inf]
    closed = through[0] if through else next(n for n in facts.names if n not in (a, b))
    remote = max(facts.names, key=lambda name: far[g, name])
    five = rng.sample(facts.names, 6)
    tour = min(
        sum(far[x, y] for x, y in itertools.pairwise((five[0], *order, five[0])))
        for order in itertools.permutations(five[1:])
    )
    limit = rng.randrange(150, 400)
    near = sum(far[x, y] <= limit for x, y in itertools.combinations(facts.names, 2))
    cut = sorted(n for n in facts.names if math.inf in facts.ways(2, (n,)).values())
    clues, keeper = keepers(rng)
    hermit, hints = only_island(facts, rng)
    return [
        (
            3,
            f"How many minutes does the fastest way by ferry from {a} to {b} take? Changing takes no time, and every line runs both ways.",
            *number("minutes"),
            far[a, b],
        ),
        (
            3,
            f"Name all islands on the fastest way by ferry from {c} to {d}, both included, in order.",
            "list",
            {},
            facts.path(c, d),
        ),
        (
            3,
            f"What does the cheapest way by ferry from {e} to {f} cost, in crowns (100 cents)? Each line is paid for.",
            *number("crowns"),
            f"{facts.fares[e, f] / 100:.2f}",
        ),
        (3, f"How many ferries at least does one need to get from {g} to {h}?", *number(), hop[g, h]),
        (
            3,
            f"The harbour of {closed} is closed. How many minutes does the fastest way by ferry from {a} to {b} take now?",
            *number("minutes"),
            facts.ways(2, (closed,))[a, b],
        ),
        (3, f"Which island takes longest to reach from {g} by the fastest ways?", "text", {}, remote),
        (
            3,
            "The fleet is to be cut to as few sailing minutes as possible (the sum over the lines that are kept) with every island still connected. What is that sum?",
            *number("minutes"),
            tree(facts),
        ),
        (
            3,
            "Closing the harbour of which islands would cut some of the other islands off from each other? Name all.",
            "set",
            {},
            cut,
        ),
        (3, hints, "text", {}, hermit),
        (3, clues, "text", {}, keeper),
        (
            3,
            f"A doctor leaves {five[0]}, visits {', '.join(sorted(five[1:]))} in the best order and returns. How many minutes does she spend on ferries at least?",
            *number("minutes"),
            tour,
        ),
        (
            3,
            f"How many pairs of different islands are at most {limit} minutes apart by the fastest way?",
            *number("pairs"),
            near,
        ),
    ]


def tree(facts):
    joined, total = {facts.names[0]}, 0
    while len(joined) < len(facts.names):
        line = min((r for r in facts.world.ferries if (r[0] in joined) != (r[1] in joined)), key=lambda r: r[2])
        joined |= set(line[:2])
        total += line[2]
    return total


def only_island(facts, rng):
    """(name, text): conditions that one island alone meets."""
    while True:
        name = rng.choice(facts.names)
        row = facts.islands[name]
        people, height = row[3] + rng.randrange(50, 900), row[4] - rng.randrange(5, 60)
        month = rng.randrange(1, 13)
        rain = facts.weather(name)[month][3] - rng.randrange(1, 9)
        lines = sum(name in r[:2] for r in facts.world.ferries)
        fits = [
            r[0]
            for r in facts.world.islands
            if r[3] < people and r[4] > height and facts.weather(r[0])[month][3] > rain
            and sum(r[0] in f[:2] for f in facts.world.ferries) == lines and r[7] == row[7]
        ]  # fmt: skip
        if fits == [name]:
            return name, (
                f"On one island {row[7]} is spoken, fewer than {people} people live, the highest point is above "
                f"{height} m, more than {rain} mm of rain fell in month {month} of 2025, and exactly {lines} ferry "
                "line(s) call. Which?"
            )


def keepers(rng):
    """(text, name): five keepers, five days, and as few clues as leave one order."""
    who = rng.sample(["Ansgar", "Berit", "Carsten", "Dagny", "Eilif"], 5)
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    right = tuple(rng.sample(who, 5))
    clues = []
    for x, y in itertools.permutations(sorted(who), 2):
        gap = right.index(y) - right.index(x)
        if gap > 0:
            clues.append((f"{x} keeps the light before {y}.", lambda o, x=x, y=y: o.index(x) < o.index(y)))
        if abs(gap) > 1:
            clues.append(
                (
                    f"{x} and {y} are not on days next to each other.",
                    lambda o, x=x, y=y: abs(o.index(x) - o.index(y)) > 1,
                )
            )
    for x in sorted(who):
        for i, day in enumerate(days):
            if right[i] != x:
                clues.append((f"{x} is not there on {day}.", lambda o, x=x, i=i: o[i] != x))
    rng.shuffle(clues)
    orders = list(itertools.permutations(sorted(who)))
    needed = list(clues)
    for clue in clues:
        fewer = [other for other in needed if other is not clue]
        if sum(all(test(order) for _, test in fewer) for order in orders) == 1:
            needed = fewer
    text = " ".join(line for line, _ in needed)
    return (
        f"Five keepers, {', '.join(sorted(who))}, each keep the light on one day from Monday to Friday. {text} Who is there on Wednesday?",
        right[2],
    )
