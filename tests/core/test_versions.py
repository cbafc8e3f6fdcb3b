"""Constraints choose the tags a user means, pre-releases included."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from aim_engine.core import versions
from aim_engine.core.versions import Version


@pytest.mark.parametrize(
    ("tag", "constraints", "expected"),
    [
        pytest.param("1.0.0", [], True, id="no constraint takes every version"),
        pytest.param("latest", [], False, id="a tag that is no version"),
        pytest.param("1.2", [], False, id="a version cut short is no strict version"),
        pytest.param("v0.8.4", ["0.8.4"], True, id="a leading v of the tag does not count"),
        pytest.param("0.8.4", ["v0.8.4"], True, id="a leading v of the constraint does not count"),
        pytest.param("0.8.5", ["0.8.4"], False, id="no operator means exactly this one"),
        pytest.param("0.8.4", ["0.8.4", "0.8.5"], False, id="two exact versions match nothing"),
        pytest.param("0.8.4", ["=0.8.4"], True, id="equal"),
        pytest.param("0.8.4", ["==0.8.4"], True, id="equal, twice the sign"),
        pytest.param("0.8.4", ["!=0.8.4"], False, id="unequal"),
        pytest.param("0.8.4", ["!0.8.4"], False, id="unequal, short"),
        pytest.param("0.9.0", [">=0.9"], True, id="one dot means patch zero"),
        pytest.param("1.0.0", [">=1"], True, id="no dot means minor and patch zero"),
        pytest.param("0.9.9", [">=0.9 <1.0"], True, id="several in one text must all hold"),
        pytest.param("1.0.0", [">=0.9 <1.0"], False, id="several in one text, one fails"),
        pytest.param("0.9.9", [">= 0.9"], True, id="a blank after the operator"),
        pytest.param("2.5.0", ["<1.0.0 || >=2.0.0"], True, id="either of two"),
        pytest.param("1.5.0", ["<1.0.0 || >=2.0.0"], False, id="neither of two"),
        pytest.param("1.2.7", ["1.2.x"], True, id="any patch"),
        pytest.param("1.3.0", ["1.2.x"], False, id="not another minor"),
        pytest.param("1.9.0", ["1.x"], True, id="any minor"),
        pytest.param("2.0.0", [">1.x"], True, id="above a whole major"),
        pytest.param("1.9.9", [">1.x"], False, id="not above a whole major"),
        pytest.param("0.8.1-rc1", [">=0.8.0"], True, id="a pre-release of a later version"),
        pytest.param("0.8.0-rc1", [">=0.8.0"], False, id="a pre-release is before its release"),
        pytest.param("0.9.0-rc1", ["<0.9.0"], True, id="a pre-release below the bound"),
        pytest.param("1.2.9", ["~1.2.0"], True, id="tilde keeps the minor"),
        pytest.param("1.3.0", ["~1.2.0"], False, id="tilde ends at the next minor"),
        pytest.param("1.9.0", ["^1.2.0"], True, id="caret keeps the major"),
        pytest.param("2.0.0", ["^1.2.0"], False, id="caret ends at the next major"),
        pytest.param("0.2.9", ["^0.2.3"], True, id="caret keeps the minor of 0.x"),
        pytest.param("0.3.0", ["^0.2.3"], False, id="caret ends at the next minor of 0.x"),
        pytest.param("0.0.3", ["^0.0.3"], True, id="caret of 0.0.x is that patch"),
        pytest.param("0.0.4", ["^0.0.3"], False, id="caret of 0.0.x ends at the next patch"),
        pytest.param("1.0.0", ["what?"], True, id="a constraint nobody can read is left out"),
        pytest.param("1.0.0", ["what?", ">=2"], False, id="the readable ones still count"),
        pytest.param("1.0.0+build.5", ["1.0.0"], True, id="build metadata does not count"),
    ],
)
def test_a_tag_against_constraints(tag: str, constraints: list[str], expected: bool) -> None:
    assert versions.satisfies(tag, constraints) is expected


def test_versions_stand_in_the_order_of_the_specification() -> None:
    pre_releases = ("alpha", "alpha.1", "alpha.beta", "beta", "beta.2", "beta.11", "rc.1")
    written = [*(f"1.0.0-{pre}" for pre in pre_releases), "1.0.0"]
    parsed = [versions.parse(tag) for tag in written]
    assert parsed == sorted(version for version in parsed if version)


numbers = some.integers(0, 30)
made = some.builds(Version, numbers, numbers, numbers, some.just(()) | some.just(("rc", "1")))


def written(version: Version) -> str:
    return f"{version.major}.{version.minor}.{version.patch}" + (f"-{'.'.join(version.pre)}" if version.pre else "")


@given(made, made)
def test_comparators_agree_with_the_order(one: Version, other: Version) -> None:
    tag, bound = written(one), written(other)
    assert versions.satisfies(tag, [f">={bound}"]) is not versions.satisfies(tag, [f"<{bound}"])
    assert versions.satisfies(tag, [f"<={bound}"]) is not versions.satisfies(tag, [f">{bound}"])
    assert versions.satisfies(tag, [f"={bound}"]) is not versions.satisfies(tag, [f"!={bound}"])
    assert versions.satisfies(tag, [f"~{bound}"]) <= versions.satisfies(tag, [f"^{bound} || ~{bound}"])


@given(some.text(max_size=30), some.text(max_size=30))
def test_no_text_breaks_the_matching(tag: str, text: str) -> None:
    assert versions.satisfies(tag, [text]) in (True, False)
