"""Which tags a model source takes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.core import versions


@pytest.mark.parametrize(
    ("constraint", "tag", "expected"),
    [
        pytest.param("0.8.4", "0.8.4", True, id="exactly"),
        pytest.param("0.8.4", "v0.8.4", True, id="a leading v on the tag"),
        pytest.param("v0.8.4", "0.8.4", True, id="a leading v on the constraint"),
        pytest.param("=0.8.4", "0.8.5", False, id="equal"),
        pytest.param("==0.8.4", "0.8.4", True, id="equal twice"),
        pytest.param("0.8", "0.8.0", True, id="one dot gets .0"),
        pytest.param("0.8", "0.8.1", False, id="one dot is no wildcard"),
        pytest.param("0.8.4", "0.8.4+build5", True, id="build metadata does not matter"),
        pytest.param("!=0.8.4", "0.8.4", False, id="not equal"),
        pytest.param("!0.8.4", "0.8.5", True, id="not equal, short"),
        pytest.param(">0.8.4", "0.8.4", False, id="greater"),
        pytest.param(">0.8.4", "0.8.5-rc1", True, id="greater, a pre-release of the next"),
        pytest.param(">=0.9", "0.9.0", True, id="at least, one dot"),
        pytest.param(">=1", "1.0.0", True, id="at least, no dot"),
        pytest.param(">= 1.0.0", "1.2.0", True, id="a blank after the operator"),
        pytest.param("<0.9.0", "0.9.0-rc1", True, id="less admits a pre-release of the limit"),
        pytest.param("<=0.9.0", "0.9.0", True, id="at most"),
        pytest.param("<=0.9.0", "0.9.1-0", False, id="at most, the very next version"),
        pytest.param(">=0.8.0", "0.8.1-rc1", True, id="a pre-release above"),
        pytest.param(">=0.8.0", "0.8.0-rc1", False, id="a pre-release below"),
        pytest.param(">=0.9 <1.0", "0.9.5", True, id="blanks are and"),
        pytest.param(">=0.9 <1.0", "1.0.0", False, id="blanks are and, upper end"),
        pytest.param(">=0.9, <1.0", "1.0.0", False, id="commas are and, too"),
        pytest.param("<0.8.0 || >=0.9.0", "0.9.1", True, id="bars are or"),
        pytest.param("<0.8.0||>=0.9.0", "0.8.5", False, id="bars are or, without blanks"),
        pytest.param("1.2.x", "1.2.9", True, id="wildcard for the patch"),
        pytest.param("1.2.x", "1.3.0", False, id="wildcard for the patch ends"),
        pytest.param("1.x", "1.9.9", True, id="wildcard for the minor"),
        pytest.param("1.X.X", "2.0.0", False, id="wildcards in upper case"),
        pytest.param("*", "0.0.0-alpha", True, id="anything"),
        pytest.param(">1.2.x", "1.2.9", False, id="greater than a wildcard"),
        pytest.param(">1.2.x", "1.3.0", True, id="greater than a wildcard, next"),
        pytest.param("<=1.2.x", "1.2.9", True, id="at most a wildcard"),
        pytest.param("!=1.2.x", "1.2.0", False, id="not a wildcard"),
        pytest.param("~1.2.0", "1.2.9", True, id="tilde keeps the minor"),
        pytest.param("~1.2.0", "1.3.0", False, id="tilde ends at the next minor"),
        pytest.param("~1.2", "1.2.5", True, id="tilde with one dot"),
        pytest.param("~1", "1.9.0", True, id="tilde with the major alone"),
        pytest.param("^1.2.0", "1.9.0", True, id="caret keeps the major"),
        pytest.param("^1.2.0", "1.1.9", False, id="caret has a lower end"),
        pytest.param("^1.2.0", "2.0.0", False, id="caret ends at the next major"),
        pytest.param("^0.2.3", "0.2.9", True, id="caret below 1 keeps the minor"),
        pytest.param("^0.2.3", "0.3.0", False, id="caret below 1 ends at the next minor"),
        pytest.param("^0.0.3", "0.0.3", True, id="caret below 0.1 keeps the patch"),
        pytest.param("^0.0.3", "0.0.4", False, id="caret below 0.1 ends at the next patch"),
        pytest.param("^0", "0.9.9", True, id="caret of zero"),
        pytest.param("^1.2.0-rc1", "1.2.0-rc2", True, id="caret from a pre-release on"),
        pytest.param(">=0.0.0", "latest", False, id="no version at all"),
        pytest.param(">=0.0.0", "1.2", False, id="not a strict version"),
        pytest.param(">=0.0.0", "01.2.3", False, id="leading zeros are not strict"),
        pytest.param(">=0.0.0", "1.2.3-01", False, id="leading zeros in a pre-release neither"),
    ],
)
def test_tag_and_constraint(constraint: str, tag: str, expected: bool) -> None:
    assert versions.satisfies(tag, [constraint]) is expected


def test_nothing_demanded_takes_every_tag() -> None:
    assert versions.satisfies("latest", []) and versions.satisfies("1.2.3", ())


def test_all_constraints_must_hold() -> None:
    assert versions.satisfies("1.5.0", [">=1.0.0", "<2.0.0"])
    assert not versions.satisfies("2.5.0", [">=1.0.0", "<2.0.0"])
    assert not versions.satisfies("0.8.4", ["0.8.4", "0.8.5"])


@pytest.mark.parametrize(
    "text", ["", "  ", "latest", ">=", "1.2.3.4", ">=1.0.0 ||", "=>1.0.0", "1.x-rc1", "v", "~~1.0"]
)
def test_what_cannot_be_read_is_ignored_but_versions_are_still_demanded(text: str) -> None:
    assert versions.constraint(text) is None
    assert versions.satisfies("1.0.0", [text]) and not versions.satisfies("latest", [text])
    assert not versions.satisfies("1.0.0", [text, ">=2.0.0"])


ORDER = (
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
)


def test_precedence_is_that_of_semver_org() -> None:
    parsed = [versions.parse(text) for text in ORDER]
    assert all(a is not None and b is not None and a < b for a, b in itertools.pairwise(parsed))


NUMBER = st.integers(0, 3)
PRE = st.sampled_from(["", "-0", "-1", "-rc1", "-rc.1", "-alpha", "-rc1.0"])
VERSION = st.builds(lambda a, b, c, pre: f"{a}.{b}.{c}{pre}", NUMBER, NUMBER, NUMBER, PRE)


def holds(constraint: str, tag: str) -> bool:
    assert versions.constraint(constraint) is not None
    return versions.satisfies(tag, [constraint])


@given(VERSION, VERSION)
def test_comparators_agree_with_one_another(limit: str, tag: str) -> None:
    less, equal, greater = (holds(operator + limit, tag) for operator in ("<", "=", ">"))
    assert [less, equal, greater].count(True) == 1
    assert holds(f"<={limit}", tag) == (less or equal)
    assert holds(f">={limit}", tag) == (greater or equal)
    assert holds(f"!={limit}", tag) == (not equal)


@given(NUMBER, NUMBER, NUMBER, VERSION)
def test_ranges_are_what_they_stand_for(major: int, minor: int, patch: int, tag: str) -> None:
    base = f"{major}.{minor}.{patch}"
    assert holds(f"~{base}", tag) == holds(f">={base} <{major}.{minor + 1}.0", tag)
    end = f"{major + 1}.0.0" if major else f"0.{minor + 1}.0" if minor else f"0.0.{patch + 1}"
    assert holds(f"^{base}", tag) == holds(f">={base} <{end}", tag)
    assert holds(f"{major}.{minor}.x", tag) == holds(f">={major}.{minor}.0 <{major}.{minor + 1}.0", tag)
    assert holds(f"{major}.x", tag) == holds(f">={major}.0.0 <{major + 1}.0.0", tag)


@given(VERSION, VERSION, VERSION)
def test_or_is_union_and_two_constraints_are_intersection(one: str, other: str, tag: str) -> None:
    a, b = f">={one}", f"<{other}"
    assert holds(f"{a} || {b}", tag) == (holds(a, tag) or holds(b, tag))
    assert versions.satisfies(tag, [a, b]) == holds(f"{a} {b}", tag) == (holds(a, tag) and holds(b, tag))


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_answered(constraint: str, tag: str) -> None:
    assert versions.satisfies(tag, [constraint]) in (True, False)
