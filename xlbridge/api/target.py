"""Which remote system is talked to, and as whom."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Target:
    """One environment: its address and the integration user's credentials.

    ``profile`` names it in the journal and to the user; credentials, tokens and data are never
    shared between two. ``production`` says that what is written there counts. Source: the spec,
    What the service does.

    ``ca_bundle`` is a PEM file with the certificate authorities to trust instead of the usual
    ones.
    """

    profile: str
    base_url: str
    email: str
    password: str = field(repr=False)
    production: bool = False
    ca_bundle: Path | None = None
