"""Tables of the queue of uploaded files: their logs, rejected lines and notifications."""

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from xlbridge.sandbox.columns import metadata

import_logs = Table(
    "import_logs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("filename", Text),
    Column("content", LargeBinary, nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("released", Boolean, nullable=False),
    Column("included", DateTime, nullable=False),
    Column("started", DateTime),
    Column("finished", DateTime),
    Column("total", Integer, nullable=False, default=0),
    Column("imported", Integer, nullable=False, default=0),
    Column("message", Text),
)
rejected_lines = Table(
    "rejected_lines",
    metadata,
    Column("log_id", ForeignKey("import_logs.id"), primary_key=True),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("column", Text),
    Column("message", Text, nullable=False),
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("log_id", ForeignKey("import_logs.id"), nullable=False),
    Column("recipient", Text, nullable=False),
    Column("subject", Text, nullable=False),
    UniqueConstraint("log_id"),
)
