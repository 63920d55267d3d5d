"""A batch that is being looked at or run."""

from dataclasses import dataclass

from xlbridge.batch.ledger import Ledger
from xlbridge.batch.plan import Plan
from xlbridge.batch.sites import Sites


@dataclass(frozen=True, slots=True)
class Batch:
    """A plan with what is known of it, and the environments that it works with."""

    plan: Plan
    ledger: Ledger
    sites: Sites

    @property
    def id(self) -> str:
        """The batch's name."""
        return self.plan.batch
