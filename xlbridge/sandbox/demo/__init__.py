"""Records of the demo: a small company, enough of them to exceed the caps of listings."""
