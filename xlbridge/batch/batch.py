"""A batch that is being looked at or run."""

from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.ledger import Ledger
from xlbridge.batch.plan import Plan
from xlbridge.batch.sites import Sites


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan with what is known of it, and the environments that it works with.

    ``own_schemas`` is the folder of own resources by which the plan was read, if one was given.
    """

    plan: Plan
    ledger: Ledger
    sites: Sites
    own_schemas: Path | None = None

    @property
    def id(self) -> str:
        """The batch's name."""
        return self.plan.batch
