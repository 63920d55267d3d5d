"""How a database is reached: one engine for reading transactions and one for writing ones."""

from dataclasses import dataclass

from sqlalchemy import Engine

POOL_SIZE = 16
"""Most connections that requests hold at once."""

LOCK_SECONDS = 30
"""How long a writing transaction waits for those of other processes."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Both draw from one pool of connections.

    A writing transaction waits for the one before it, on either database, so that what it reads
    stays true until it ends. A reading one waits for nobody, and sees one moment throughout.
    """

    reading: Engine
    writing: Engine
