from .stand_ins import (
    CODE_COLUMNS as CODE_COLUMNS,
    REGISTRY_TITLES as REGISTRY_TITLES,
    StandIns as StandIns,
)
