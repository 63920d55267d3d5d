"""Reading a YAML file, and telling what is wrong in it."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from xlbridge.i18n import Text
from xlbridge.yaml_files.form import Mistake
from xlbridge.yaml_files.places import YamlText

_MOST_TOLD = 10
_NOT_UTF_8 = Text(
    pt="isto não é texto em UTF-8; salve o arquivo como UTF-8.",
    en="this is no text in UTF-8; save the file as UTF-8.",
)


def read_document(path: Path, *, dates: bool = True) -> YamlText | Mistake:
    """Return a file's document, or why it is none; without ``dates`` those are texts."""
    try:
        return YamlText(path.read_text(encoding="utf-8"), dates=dates)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        why = error.problem or str(error)
    except UnicodeDecodeError as error:
        return Mistake(error.object.count(b"\n", 0, error.start) + 1, "", _NOT_UTF_8)
    except (OSError, ValueError, yaml.YAMLError) as error:
        line, why = 1, str(error)
    what = Text(pt="não é YAML: {why}.", en="this is no YAML: {why}.").format(why=why)
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
