"""The way of a request, and what the server says of itself."""
