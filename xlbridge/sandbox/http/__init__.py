"""HTTP side of the sandbox: routes, requests and responses, OpenAPI document."""
