"""A `Client` in the place of a `Runtime`: the same results over each protocol."""

import gc
import time
import warnings

import numpy as np
import pytest

from serving import client as room
from serving.client import Client, NotFoundError, patience
from serving.client.errors import retry_seconds
from serving.client.protocols import nest
from serving.client.transport import parse_address
from serving.client.work import MOST_CHARACTERS
from serving.kinds.rules import RULES
from serving.runtime import Runtime, Sampling
from tests.serving import fake_artefact

TEXTS = ["abc", "", "a1 b22 c333", "   ", "h", "äß 日本", "\udcff", "0123456789" * 7, "a" * 20000, "b c"] * 3


def same(found, expected):
    """Results are equal, their numbers as far as float32 goes. A server does not tell how sure a model is of a text."""
    assert type(found) is type(expected)
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        same(list(found.values()), list(expected.values()))
    elif hasattr(expected, "__dict__"):
        same(*({name: each for name, each in vars(one).items() if name != "confidence"} for one in (found, expected)))
    else:
        assert found == expected


@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag"])
def test_it_answers_as_a_runtime_does(fake, servers, scheme, kind):
    labels = fake_artefact.LABELS if kind == "classify" else ()
    with Client(servers.url(scheme), kind, batch=4, labels=labels) as client:
        same(client.run(TEXTS), fake.runtimes[kind].run(TEXTS))
        assert client.run([]) == [] and client.run(["\ud800"])[0].error.startswith("not UTF-8")
    assert client.kind == ("generate" if kind == "continue" else kind)
    asked = [len(inputs["text"]) for _, inputs, _ in fake.seen]
    assert sum(asked) == len(TEXTS) - 3 and max(asked) == 4


LISTS = [["Where", "is", "zoo?"], "a b?", ["don't", "(", "x", "!"], [], ["a", "", "b"], "c", ["\udcff"], ["\0", "äß"]]


@pytest.mark.parametrize("rule", ["spaces", "punctuation"])
def test_lists_of_words_are_read_as_a_runtime_reads_them(fake, servers, scheme, rule, tmp_path):
    folder = fake_artefact.write(tmp_path, "tag")
    fake_artefact.change(folder, words=rule)
    runtime = fake.runtimes["tag"] = Runtime(folder, threads=1)
    found, expected = Client(servers.url(scheme), "tag", batch=3).run(LISTS), runtime.run(LISTS)
    assert [word.text for word in expected[2].words] == LISTS[2] and len(expected[1].words) == 2 + (rule != "spaces")
    if rule == "spaces" or not scheme.startswith("tfs"):
        same(found, expected)
    else:  # it takes no parameter, and cuts by the rule of the model
        assert found[0].words == () and found[0].error.startswith("the server has the word 'zoo' where the list has")
        same([found[1], *found[3:7]], [expected[1], *expected[3:7]])


def test_a_word_that_a_server_would_cut_has_an_error(servers, scheme):
    found = Client(servers.url(scheme), "tag").run([["New York", "b"], ["New", "York"]])
    assert found[0].error.startswith("the server has the word 'New' where the list has 'New York'")
    assert [word.text for word in found[1].words] == ["New", "York"] and found[1].error is None


def test_other_models_take_no_lists(servers, scheme):
    for kind in ("generate", "compare"):
        with pytest.raises(TypeError, match="Expected a list of strings; received list at position 1"):
            Client(servers.url(scheme), kind).run(["a", ["b", "c"]])
    with pytest.raises(TypeError, match="Expected a list of strings; received int at position 0"):
        Client(servers.url(scheme), "tag").run([[3]])


def test_pairs(fake, servers, scheme):
    client = Client(servers.url(scheme), "compare", batch=2, labels=fake_artefact.LABELS)
    texts = ["abc\td", "a\tbcd", "no pair", "a\tb\tc", "h\t\udcff", "\udc80\th"]
    found = client.run(texts)
    same(found, fake.runtimes["compare"].run(texts))
    assert client.kind == "compare" and [bool(each.label) for each in found] == [True, True, False, False, False, False]
    assert found[0].probability == 1.0 and "A pair is two texts with one TAB" in found[2].error
    assert found[4].error.startswith("second text: not UTF-8") and found[5].error.startswith("first text: not UTF-8")


@pytest.mark.parametrize("kind", ["generate", "compare"])
def test_a_text_beyond_the_size_of_a_request_is_refused_here_and_costs_no_other(fake, servers, scheme, kind):
    client, most = Client(servers.url(scheme), kind), "a" * MOST_CHARACTERS
    short = "a\tb" if kind == "compare" else "ab"
    found = client.run([short, most + "\t", short])
    assert found[1].error == f"{MOST_CHARACTERS + 1} characters, at most {MOST_CHARACTERS}"
    assert [each.error for each in found[::2]] == [None, None]
    assert all(len(text) < 9 for _, inputs, _ in fake.seen for texts in inputs.values() for text in texts)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_options(fake, servers, scheme):
    client, runtime = Client(servers.url(scheme), "generate", batch=3), fake.runtimes["generate"]
    for options in (
        {"beam": 1},
        {"n_best": 3},
        {"sampling": Sampling(temperature=0.5, top_k=3, seed=7)},
        {"sampling": Sampling(np.float32(0.5), np.int32(3), seed=np.int64(7)), "n_best": np.int64(2)},
        {"sampling": Sampling(top_p=0.25, first=5), "n_best": 2},
    ):
        same(client.run(TEXTS, **options), runtime.run(TEXTS, **options))
    assert Client(servers.url(scheme), "generate").options == (
        "beam",
        "n_best",
        "sampling",
        "length",
        "sentences",
        *RULES,
    )
    for wrong in (3, True, [Sampling()], Sampling):
        with pytest.raises(TypeError, match="sampling must be a serving.runtime.Sampling, such as Sampling"):
            client.run(["a"], sampling=wrong)


@pytest.mark.parametrize(
    ("scheme", "model"), [("tfs+http", "generate"), ("tfs+grpc", "generate"), ("http", "classify")]
)
def test_what_takes_no_option(servers, scheme, model):
    with pytest.raises(ValueError, match="takes no option; received beam"):
        Client(servers.url(scheme), model).run(["a"], beam=1)


def test_labels_that_the_server_says(servers, scheme):
    found = Client(servers.url(scheme), "classify").run(["abc"])[0]
    assert found.label == "zwei" and found.probability == 1
    assert found.probabilities == ({"zwei": 1.0, "null": 0.0, "eins": 0.0} if scheme == "http" else {"zwei": 1.0})


def test_versions(servers, scheme):
    assert Client(servers.url(scheme), "generate@1").run(["a"])[0].text == "a"
    with pytest.raises(NotFoundError, match="there is no "):
        Client(servers.url(scheme), "generate@9").run(["a"])
    with pytest.raises(NotFoundError):
        Client(servers.url(scheme), "nobody").run(["a"])
    client = Client(servers.url(scheme), "generate")
    client.pin()
    assert client.model.version == "1" and client.run(["a"])[0].text == "a"
    assert client.identity == {"server": servers.url(scheme), "name": "generate", "version": "1"}


@pytest.mark.parametrize("scheme", ["tfs+http", "tfs+grpc"])
def test_labels_of_versions(servers, scheme):
    client = Client(servers.url(scheme), "generate@stable")
    assert client.run(["a"])[0].text == "a" and client.identity["version"] == "stable"
    client.pin()  # the label may move: what it means now is asked from now on
    assert client.model.version == "1" and client.identity["version"] == "1"


def test_a_version_that_is_given_stays(servers, scheme):
    versions = ["2"] if scheme.startswith("tfs") else ["2", "blue"]  # of the Open Inference Protocol it may be any text
    for version in versions:
        client = Client(servers.url(scheme), f"generate@{version}")
        client.pin()  # the server says all versions there, not the one that was asked
        assert client.model.version == version


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8080",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://a:99999",
        "grpc://a/b",
        "http://u:p@a",
        "http://a?b",
        "http://a b:1",
        3,
    ],
    ids=range(10),
)
def test_an_address_that_is_none(url):
    with pytest.raises(ValueError, match="SCHEME://HOST:PORT|leave out the user"):
        Client(url, "a")


def test_addresses():
    assert (
        parse_address("tfs+http://[::1]:85/a/b/").authority == "[::1]:85"
        and parse_address("tfs+http://a/b/").path == "/b"
    )
    assert parse_address("grpc://a").port == 8081 and parse_address("https://a").secure
    numbers = ({"tries": 0}, {"batch": 1.5}, {"connections": True})
    times = ({"timeout": value} for value in (0, float("nan"), float("inf"), 1e11, 10**400, "5"))
    for wrong in (*numbers, *times):
        with pytest.raises(ValueError, match="must be"):
            Client("http://a", "a", **wrong)


def test_the_longest_timeout(servers, scheme):
    assert Client(servers.url(scheme), "generate", timeout=1e6).run(["a"])[0].text == "a"


def test_no_server_makes_a_client_wait_for_ever():
    assert [
        retry_seconds(said) for said in ("1e12", "inf", "nan", "-1", "", None, "Sat, 01 Jan 2028 00:00:00 GMT")
    ] == [
        *(3600, 3600),
        *(0, 0, 0, 0, 0),
    ]


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        *(([], shape) for shape in ([3_000_000, 0], [10**12, 0], [2, 10**12, 0], [2, 0, -1], [], [0], [2], [2] * 99)),
        *(([1, 2], shape) for shape in ([-1, -2], [1, 2], [2, 1.0], [True, 2], [10**9, "ab"], [3])),
    ],
    ids=range(14),
)
def test_shapes_that_do_not_fit_cost_nothing(values, shape):
    begun = time.monotonic()
    with pytest.raises(ValueError, match="values in a tensor of shape"):
        nest(values, shape, 2)
    assert time.monotonic() - begun < 1


def test_shapes_that_fit():
    assert nest([1, 2], [2], 2) == [1, 2] and nest([], [2, 0], 2) == [[], []]
    assert nest(range(8), [2, 2, 2], 2) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert nest([], [2, 0, 5], 2) == [[], []]


@pytest.mark.parametrize("texts", ["abc", ["abc", 3], None])
def test_texts_that_are_none(servers, texts):
    with pytest.raises(TypeError, match="Expected a list of strings"):
        Client(servers.url("http"), "generate").run(texts)


def test_waits_grow_and_differ():
    one, other = list(patience.draw_pauses(9)), list(patience.draw_pauses(9))
    assert len(one) == 8 and one != other
    bounds = [min(patience.MOST, patience.FIRST * 2**number) for number in range(8)]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(one, bounds, strict=True))
    assert len(list(patience.draw_pauses(5000))) == 4999  # hours, for whoever wants to wait so long


def test_headers_are_sent(fake, servers, scheme):
    seen = []

    def look(call):
        headers = dict(call.invocation_metadata()) if "grpc" in scheme else call.headers
        seen.append(headers.get("x-key"))
        if "grpc" not in scheme:
            call._send(503, {})
        else:
            import grpc

            call.abort(grpc.StatusCode.UNAVAILABLE, "again")

    fake.script[:] = [look]
    Client(servers.url(scheme), "generate", headers={"X-Key": "secret"}).run(["a"])
    assert seen == ["secret"]


@pytest.mark.parametrize("value", ["Bearer secret\n", "Bearer\x00secret", "Bearer secr\u00e9t"])
def test_headers_that_cannot_be_sent_are_refused_without_their_secret(scheme, value):
    with pytest.raises(ValueError, match="the header Authorization must be printable") as error:
        Client(f"{scheme}://a", "a", headers={"Authorization": value})
    assert "secr" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("", {}, "expected the name of a model on the server, such as dates@2; received ''"),
        ("@2", {}, "received '@2'"),
        (None, {}, "received None"),
        ("a", {"labels": "ab"}, "labels must be the names of all labels, a list of strings; received 'ab'"),
        ("a", {"labels": [1]}, r"received \[1\]"),
        ("a", {"headers": {"X-Key": 3}}, "the header X-Key must be a string; received int"),
        (
            "a",
            {"headers": {"X Key\n": "3"}},
            "a header has a name of letters, digits and hyphens; received 'X K",
        ),
    ],
    ids=range(7),
)
def test_settings_that_no_server_understands(scheme, name, settings, message):
    """Most failed inside, or only when something was asked; two letters were two labels."""
    with pytest.raises(ValueError, match=message):
        Client(f"{scheme}://a", name, **settings)


def test_names_of_the_room():
    assert {"Client", "AsyncClient", "ClientError"} <= set(room.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        room.nothing  # noqa: B018


def test_a_client_that_nobody_closed_leaves_no_open_socket(servers, scheme):
    """In a cycle of references, too, where the collector may come to the socket before the client."""
    gc.freeze()  # so that only what is made here is looked at
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = Client(servers.url(scheme), "generate")
        client.run(["abc"])
        cycle = [client]
        cycle.append(cycle)
        idle = [each.sock for each in getattr(client._protocol.transport, "_idle", ())]
        socket = idle.pop() if idle else None
        gc.collect()  # what is held by a local variable is now in front of what is held by the cycle alone
        del client, cycle, socket
        gc.collect()
    gc.unfreeze()
    assert not [each for each in caught if issubclass(each.category, ResourceWarning)]
