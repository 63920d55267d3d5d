"""One task for many items: in this process, in processes beside it, or over a Dask cluster."""
