from .embedded import (
    Behaviour as Behaviour,
    FaultKind as FaultKind,
    FaultPlan as FaultPlan,
    RunningSandbox as RunningSandbox,
    SeedKind as SeedKind,
    embedded_sandbox as embedded_sandbox,
    parse_faults as parse_faults,
    sandbox_process as sandbox_process,
)
from .imports import has_unfinished_files as has_unfinished_files
from .seed import open_database as open_database, seed_database as seed_database
from .server import ServeOptions as ServeOptions, serve as serve
from .users import prepare_account as prepare_account
