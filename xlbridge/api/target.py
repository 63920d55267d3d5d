"""Which remote system is talked to, and as whom."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Target:
    """One environment: its address and the integration user's credentials.

    ``profile`` names it in the journal and to the user; credentials, tokens and data are never
    shared between two. Source: the spec, What the service does.
    """

    profile: str
    base_url: str
    email: str
    password: str = field(repr=False)
