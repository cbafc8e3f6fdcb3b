"""Credentials taken out of texts that people read: conditions, events and logs.

Each rule knows a secret by its own shape or by the words before it and leaves `***` in its place. Masking masked text
changes nothing. Mask first and clip afterwards: half a token no longer looks like one.
"""

import re
from typing import Final, NamedTuple

MESSAGE_LIMIT: Final = 32768
"""Longest message of a condition, in characters."""

EXCERPT_LIMIT: Final = 2048
"""Longest excerpt of a log inside a message."""

_GONE = "***"
_CUT = " …"

_WORD = (
    r"(?:token|passw(?:or)?d|passphrase|secret|secret[_-]?(?:access[_-]?)?key|access[_-]?key(?:[_-]?id)?|api[_-]?key"
    r"|private[_-]?key|signature|credentials?|(?<![a-z])sig)"
)
"""What the name of a field, variable or parameter ends with if its value is nobody's business."""

_PLAIN_VALUE = r"(?!(?:none|null|true|false)\b)"
"""Not a secret, though it stands where one could be: `token=None`."""


_WORD_STEMS = ("token", "pass", "secret", "key", "sig", "credential", "auth")


class _Rule(NamedTuple):
    """What to look for, what to leave, and lower-case stems of which one must occur, so that most texts cost little."""

    pattern: re.Pattern[str]
    replacement: str
    stems: tuple[str, ...]


def _after(context: str, secret: str, stems: tuple[str, ...] = _WORD_STEMS) -> _Rule:
    """A secret known by what stands before it, whatever its case."""
    return _Rule(re.compile(f"({context}){secret}", re.IGNORECASE | re.DOTALL), rf"\1{_GONE}", stems)


def _shaped(shape: str, *stems: str, replacement: str = _GONE) -> _Rule:
    """A secret known by itself."""
    return _Rule(re.compile(shape), replacement, stems)


_FIELD = rf"""(?:{_WORD}|(?<=["'])auth)\\*["']\s*:\s*"""
_VARIABLE = rf"(?<![?&\w.%-])[\w.%-]*{_WORD}[ \t]*=[ \t]*"
_HEADER = r"""authorization\\*["']?\s*[:=]\s*\\*["']?"""
_IN_DOUBLE_QUOTES = r"""(?:\\.|[^"\\])*"""
_IN_SINGLE_QUOTES = r"""(?:\\.|[^'\\])*"""
_NOT_A_WORD = r"""(?=[^\s"']{0,200}[0-9])[^\s"'\\]{8,}"""
_ONE_WORD = r"""[^\s"'<>=]+"""

_RULES = (
    _after(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?!\*{3})", r".*?(?:-----END [A-Z ]*-----|\Z)", ("private key",)),
    # By their own shape; first, because what is left may stand where a word before it tells of a secret.
    # Hugging Face; names such as hf_transfer and hf_overrides are no tokens
    _shaped(r"hf_(?:[A-Za-z0-9]{16,}|(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,})", "hf_", replacement=f"hf_{_GONE}"),
    # GitHub, GitLab, Docker Hub
    _shaped(
        r"(gh[pousr]_|github_pat_|dckr_(?:pat|oat)_)[A-Za-z0-9_]{16,}",
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_", "dckr_"),
        replacement=rf"\1{_GONE}",
    ),
    _shaped(r"glpat-[A-Za-z0-9_-]{16,}", "glpat-", replacement=f"glpat-{_GONE}"),
    # JSON web tokens, service account tokens among them
    _shaped(r"eyJ[A-Za-z0-9_-]{8,300}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?", "eyj"),
    # AWS: key ids, then secret keys (40 characters of base64, upper and lower case and digits; no hex digest is that)
    _shaped(r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16,}", "akia", "asia", "aroa", "aida", "abia", "acca"),
    _shaped(
        r"(?<![A-Za-z0-9/+])(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}[0-9])"
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
        "",
    ),
    # https://user:password@host
    _after("(?<=://)", r"""[^/\s"'<>]+(?=@)""", ("://",)),
    # Authorization: Bearer abc; without a scheme only what does not read like a word
    _after(rf"{_HEADER}(?:bearer|basic|token)\s+", r"""[^\s"'\\]+"""),
    _after(_HEADER, _NOT_A_WORD),
    # Bearer and Basic alone, unless a word follows: "basic authentication"
    _after(
        r"(?:bearer|basic)\s+",
        r"(?:(?=[a-z._~+/-]*(?:[0-9=]|(?-i:[a-z][A-Z])))[a-z0-9._~+/=-]{8,}|[a-z0-9._~+/=-]{20,})",
        ("bearer", "basic"),
    ),
    # "password": "abc", also in single quotes, escaped, cut off, or a number
    _after(f'{_FIELD}"', _IN_DOUBLE_QUOTES),
    _after(f"{_FIELD}'", _IN_SINGLE_QUOTES),
    _after(rf"""{_FIELD}\\+["']""", r"""(?:[^"'\\]|\\(?!["'\\]))*"""),
    _after(_FIELD, "[0-9.]+"),
    # ?X-Amz-Signature=abc&
    _after(rf"[?&][\w.%-]*{_WORD}=", r"""[^&\s"'<>]+"""),
    # HF_TOKEN=abc, --password="a b", aws_secret_access_key = abc
    _after(f'{_VARIABLE}"', _IN_DOUBLE_QUOTES),
    _after(f"{_VARIABLE}'", _IN_SINGLE_QUOTES),
    _after(_VARIABLE, _PLAIN_VALUE + _ONE_WORD),
    # password: abc as a line of its own; inside a sentence only what does not read like a word
    _after(
        rf"(?:^|\n)[ \t]*(?:-[ \t]+)?[\w.-]*{_WORD}[ \t]*:[ \t]*",
        rf"{_PLAIN_VALUE}{_ONE_WORD}(?=[ \t\r]*(?:\n|\Z))",
    ),
    _after(rf"{_WORD}[ \t]*:[ \t]*", _NOT_A_WORD),
)
_STEMS = tuple(dict.fromkeys(stem for rule in _RULES for stem in rule.stems))
_SHORTEST_WITHOUT_STEM = 40
"""A secret that no stem gives away has so many characters."""


def masked(text: str) -> str:
    """The text without tokens, keys, passwords and signatures.

    What one rule leaves may let another find more, so the rules are gone through until none does; each time there is
    less that is not masked.
    """
    while (shown := _masked_once(text)) != text:
        text = shown
    return text


def _masked_once(text: str) -> str:
    lower = text.lower()
    found = {stem for stem in _STEMS if stem in lower}
    if found == {""} and len(text) < _SHORTEST_WITHOUT_STEM:
        return text
    for rule in _RULES:
        if not found.isdisjoint(rule.stems):
            text = rule.pattern.sub(rule.replacement, text)
    return text


def message(text: str) -> str:
    """The text masked and short enough for a condition."""
    return clipped(masked(text), MESSAGE_LIMIT)


def excerpt(text: str) -> str:
    """A piece of a log, masked and short enough to stand inside a message; the end of a log says most."""
    shown = masked(text)
    return shown if len(shown) <= EXCERPT_LIMIT else f"…{shown[len(shown) - EXCERPT_LIMIT + 1 :]}"


def clipped(text: str, limit: int) -> str:
    """The beginning of the text, marked if something was left out."""
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT
