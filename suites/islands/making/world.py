"""The archipelago: everything that the questions are about, made from a seed. Knows no question."""

import csv
import datetime
import io
import json
import random
from dataclasses import dataclass, field

GROUPS = ("Inner Sound", "North Reach", "Long Skerries", "Saltmark")
LANGUAGES = ("Ormish", "Tavic", "Old Lenn", "Quarrish", "Sarnese")
OPERATORS = ("Blue Line", "Heron Ferries", "Kelp & Sons")
STARTS = ("Ar", "Bel", "Cor", "Dun", "Es", "Fen", "Gar", "Hal", "Is", "Kor", "Lun", "Mor", "Nes", "Or", "Pel")
ENDS = ("ay", "holm", "mere", "skerry", "wick", "na", "dor", "is", "unt", "oe")
FIRST = ("Ada", "Bram", "Cilla", "Dov", "Edda", "Finn", "Greta", "Hask", "Ilse", "Jory", "Kaia", "Lorn")
LAST = ("Aske", "Birn", "Cray", "Dahl", "Eske", "Fane", "Grimm", "Hollis", "Ivers", "Juhl", "Kett", "Lund")
SHIPS = ("Petrel", "Gannet", "Kittiwake", "Fulmar", "Razorbill", "Puffin", "Dunlin", "Turnstone", "Avocet")


@dataclass
class World:
    """Rows as tuples of plain values, in the order of COLUMNS."""

    islands: list = field(default_factory=list)
    governors: list = field(default_factory=list)
    ferries: list = field(default_factory=list)
    ships: list = field(default_factory=list)
    voyages: list = field(default_factory=list)
    weather: list = field(default_factory=list)


COLUMNS = {
    "islands": "name,island_group,area_km2,population,highest_point_m,settled,lowest_temp_c,language",
    "governors": "governor,island,first_day,last_day",
    "ferries": "one_end,other_end,minutes,fare_cents,operator",
    "ships": "ship,operator,launched,length_m,home",
    "voyages": "voyage,ship,origin,destination,day,passengers,cargo_t",
    "weather": "island,month,mean_temp_c,rain_mm",
}


def make_world(seed):
    """24 islands with their governors, ferries, ships, voyages and weather."""
    rng = random.Random(seed)
    world = World()
    names = rng.sample([a + b for a in STARTS for b in ENDS], 24)
    populations, heights = rng.sample(range(180, 9400), 24), rng.sample(range(12, 1900), 24)
    for index, name in enumerate(names):
        world.islands.append(
            (
                name,
                GROUPS[index % len(GROUPS)],
                round(rng.uniform(1.5, 190.0), 1),
                populations[index],
                heights[index],
                _day(rng, 1612, 1799),
                round(rng.uniform(-24.0, -0.5), 1),
                rng.choice(LANGUAGES),
            )
        )
        world.governors += _governors(rng, name)
        for month in range(1, 13):
            warmth = 9.0 - 8.0 * abs(month - 7) / 3.0
            world.weather.append((name, month, round(warmth + rng.uniform(-3, 3), 1), rng.randrange(8, 240)))
    world.ferries = _ferries(rng, names)
    lengths = rng.sample(range(180, 900), len(SHIPS))
    for index, ship in enumerate(SHIPS):
        home = rng.choice(names)
        launched = _day(rng, 1961, 2019)
        world.ships.append((ship, OPERATORS[index % 3], launched, lengths[index] / 10, home))
    passengers = rng.sample(range(5, 900), 160)
    for number in range(160):
        line = rng.choice(world.ferries)
        origin, destination = rng.sample(line[:2], 2)
        day, ship = _day(rng, 2025, 2025), rng.choice(SHIPS)
        cargo = round(rng.uniform(0.2, 60.0), 1)
        world.voyages.append((1000 + number, ship, origin, destination, day, passengers[number], cargo))
    return world


def files(world):
    """{file name: text} as it goes into the image; the tables of the database as one SQL script."""
    rain = "".join(
        json.dumps(dict(zip(COLUMNS["weather"].split(","), row, strict=True))) + "\n" for row in world.weather
    )
    people = "".join(f"{who} | {island} | {first} to {last}\n" for who, island, first, last in world.governors)
    return {
        "islands.csv": _csv(COLUMNS["islands"], world.islands),
        "governors.txt": people,
        "weather_2025.jsonl": rain,
        "shipping.sql": "".join(_sql(name, getattr(world, name)) for name in ("ferries", "ships", "voyages")),
    }


def _day(rng, first_year, last_year):
    start = datetime.date(first_year, 1, 1)
    days = (datetime.date(last_year, 12, 31) - start).days
    return (start + datetime.timedelta(days=rng.randrange(days))).isoformat()


def _governors(rng, island):
    found, start = [], datetime.date(1990, 1, 1) + datetime.timedelta(days=rng.randrange(300))
    while start.year < 2026:
        end = start + datetime.timedelta(days=rng.randrange(900, 3600))
        who = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        found.append((who, island, start.isoformat(), end.isoformat()))
        start = end + datetime.timedelta(days=1)
    return found


def _ferries(rng, names):
    pairs = {(names[i], names[rng.randrange(i)]) for i in range(1, len(names))}
    while len(pairs) < 38:
        one, other = rng.sample(names, 2)
        if (one, other) not in pairs and (other, one) not in pairs:
            pairs.add((one, other))
    minutes = rng.sample(range(20, 400), len(pairs))
    return [
        (one, other, minutes[i], rng.randrange(15, 400) * 10, rng.choice(OPERATORS))
        for i, (one, other) in enumerate(sorted(pairs))
    ]


def _csv(columns, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns.split(","))
    writer.writerows(rows)
    return text.getvalue()


def _sql(name, rows):
    lines = [f"CREATE TABLE {name} ({COLUMNS[name].replace(',', ', ')});\n"]
    for row in rows:
        values = ", ".join(repr(value) for value in row)
        lines.append(f"INSERT INTO {name} VALUES ({values});\n")
    return "".join(lines)
