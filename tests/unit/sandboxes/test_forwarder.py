"""The forwarder of an allowlist on loopback: what each door lets through, and what it says of it."""

import asyncio
import ssl
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandboxes.allowlist import tries
from sandboxes.forwarder import Entry, Forwarder, entry, guarded, tls_name
from sandboxes.private_network import Try


@pytest.mark.parametrize(
    ("text", "covered", "not_covered"),
    [
        ("Example.org", [("example.org", 1), ("EXAMPLE.ORG.", None)], [("a.example.org", 1), ("example.org.evil", 1)]),
        ("*.example.org", [("a.example.org", 9)], [("example.org", 9), ("aexample.org", 9)]),
        ("example.org:8080", [("example.org", 8080), ("example.org", None)], [("example.org", 80)]),
        ("10.0.0.5:53", [("10.0.0.5", 53)], [("10.0.0.5", 54)]),
        ("[2001:db8::1]:80", [("2001:db8::1", 80)], [("2001:db8::1", 81)]),
    ],
)
def test_an_entry_covers_its_host_and_port_and_no_other(text, covered, not_covered):
    one = entry(text)
    assert all(one.covers(*asked) for asked in covered)
    assert not any(one.covers(*asked) for asked in not_covered)


@pytest.mark.parametrize("text", ["", ":80", "http://example.org", "a b", "host:0", "host:99999", "host:x"])
def test_what_names_no_host_is_refused(text):
    with pytest.raises(ValueError, match="names no"):
        entry(text)


def test_the_name_in_a_real_tls_greeting_is_read():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="pypi.example")
    with pytest.raises(ssl.SSLWantReadError):
        side.do_handshake()
    greeting = outgoing.read()
    assert tls_name(greeting) == "pypi.example"
    assert tls_name(greeting[:60]) is None
    assert tls_name(b"\x16" + b"\xff" * 90) is None


def query(name, kind=1):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def forwarder(*allowed, connect=None):
    said = []
    options = {} if connect is None else {"connect": connect}
    made = Forwarder([entry(a) for a in allowed], "10.9.8.7", lambda *one: said.append(one), **options)
    return made, said


def test_an_allowed_name_is_the_forwarder_and_another_does_not_exist():
    made, said = forwarder("good.test")
    good, ipv6, bad = (made.reply(query(*q)) for q in (("good.test",), ("good.test", 28), ("bad.test",)))
    assert good.endswith(bytes([10, 9, 8, 7]))
    assert (good[3] & 15, good[7], ipv6[3] & 15, ipv6[7], bad[3] & 15, bad[7]) == (0, 1, 0, 0, 3, 0)
    assert said == [("bad.test", None, False)]
    assert made.reply(b"\x00\x01nonsense") is None


def in_own_loop(work):
    """In a thread of its own: another test may have left a running loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def through(made, door, sent):
    """What comes back when `sent` is written to one door of a forwarder."""
    serve = {"proxy": made.proxy}.get(door) or (lambda r, w: made.meant(r, w, door))
    server = await asyncio.start_server(guarded(serve), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        writer.write(sent)
        if writer.can_write_eof():
            writer.write_eof()
        data = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return data


async def echo_world(asked):
    """A host that answers with what it was sent; `asked` are the places that were connected to."""

    async def answer(reader, writer):
        writer.write(b"<" + await reader.read() + b">")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)

    async def connect(host, port):
        asked.append((host, port))
        return await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])

    return server, connect


CASES = [
    ("proxy", b"CONNECT good.test:443 HTTP/1.1\r\n\r\n", ("good.test", 443), b"<>"),
    (
        "proxy",
        b"GET http://good.test/a?b HTTP/1.1\r\nHost: good.test\r\nProxy-X: 1\r\n\r\n",
        ("good.test", 80),
        b"<GET /a?b ",
    ),
    (80, b"GET / HTTP/1.1\r\nHost: good.test:80\r\n\r\n", ("good.test", 80), b"<GET / HTTP"),
    (5432, b"anything", ("db.test", 5432), b"<anything>"),
    ("proxy", b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n", None, b"403"),
    ("proxy", b"CONNECT db.test:22 HTTP/1.1\r\n\r\n", None, b"403"),
    ("proxy", b"GET http://good.test@evil.test/ HTTP/1.1\r\n\r\n", None, b"403"),
    (80, b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", None, b"403"),
    (443, b"no greeting that is known\r\n\r\n", None, b"403"),
]


@pytest.mark.parametrize(("door", "sent", "place", "answer"), CASES)
def test_each_door_lets_through_what_is_named_and_says_so(door, sent, place, answer):
    async def run():
        asked = []
        server, connect = await echo_world(asked)
        made, said = forwarder("good.test", "db.test:5432", connect=connect)
        async with server:
            return await through(made, door, sent), asked, said

    data, asked, said = in_own_loop(run())
    assert answer in data
    assert asked == ([place] if place else [])
    assert [allowed for *_, allowed in said] == [place is not None]
    assert b"Proxy-X" not in data


def test_the_log_is_counted_and_what_is_no_line_of_ours_is_passed_over():
    log = (
        '{"ready": "x"}\n{"host": "a", "port": 80, "allowed": true}\nnoise\n'
        + '{"host": "b", "port": null, "allowed": false}\n' * 2
    )
    assert tries(log) == (Try("a", 80, True), Try("b", None, False, 2))
    assert [one.line() for one in tries(log)] == ["a:80", "b x2"]
    assert Entry("a").covers("a", None)
