from .server import (
    PageOptions as PageOptions,
    serve_page as serve_page,
)
