"""HTTP side of the sandbox: routes, requests and answers, OpenAPI document."""
