"""Reading a YAML file, and telling what is wrong in it."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from xlbridge.i18n import Text, reason_of
from xlbridge.yaml_files.form import Mistake
from xlbridge.yaml_files.places import YamlText
from xlbridge.yaml_files.yaml_problems import problem_of

_MOST_TOLD = 10
_MOST_BYTES = 1_000_000
_NOT_UTF_8 = Text(
    pt="isto não é texto em UTF-8; salve o arquivo como UTF-8.",
    en="this is no text in UTF-8; save the file as UTF-8.",
)
_TOO_LARGE = Text(
    pt="o arquivo tem mais de {most} bytes: não é um destes.",
    en="the file has more than {most} bytes: it is none of these.",
).format(most=_MOST_BYTES)
_UNREADABLE = Text(pt="não pode ser lido: {why}.", en="it cannot be read: {why}.")


def read_document(path: Path, *, dates: bool = True) -> YamlText | Mistake:
    """Return a file's document, or why it is none; without ``dates`` those are texts."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            return Mistake(1, "", _TOO_LARGE)
        text = content.decode("utf-8-sig")
    except OSError as error:
        return Mistake(1, "", _UNREADABLE.format(why=reason_of(error)))
    except UnicodeDecodeError as error:
        return Mistake(error.object.count(b"\n", 0, error.start) + 1, "", _NOT_UTF_8)
    try:
        return YamlText(text, dates=dates)
    except yaml.YAMLError as error:
        line, what = problem_of(error, text)
        return Mistake(line, "", what)


def told(path: Path, mistakes: Sequence[Mistake]) -> Text:
    """Return the mistakes of a file as lines of text; of many the first ones."""
    lines = [
        Text(pt="{path}:{line}: {place}{what}", en="{path}:{line}: {place}{what}").format(
            path=path,
            line=mistake.line,
            place=f"{mistake.place}: " if mistake.place else "",
            what=mistake.what,
        )
        for mistake in mistakes[:_MOST_TOLD]
    ]
    more = len(mistakes) - len(lines)
    if more:
        lines.append(Text(pt="… e mais {n}.", en="… and {n} more.").format(n=more))
    return Text(pt="\n".join(t.pt for t in lines), en="\n".join(t.en for t in lines))
