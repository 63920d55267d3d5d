"""One task for many items: in this process, or in processes beside it."""
