"""YAML files that people write: held to their form, each mistake named with its line."""
