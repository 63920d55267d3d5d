from .links import (
    key_fields as key_fields,
    link_mistakes as link_mistakes,
    linked_catalogue as linked_catalogue,
    listing_resource as listing_resource,
    placed_links as placed_links,
    require_links as require_links,
    sheet_link as sheet_link,
)
from .reference_lists import (
    BRANCH as BRANCH,
    REFERENCES as REFERENCES,
    Link as Link,
    Reference as Reference,
    SheetLink as SheetLink,
    registry_named as registry_named,
)
