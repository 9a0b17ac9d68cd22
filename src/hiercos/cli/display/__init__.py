"""Progress, tables and files that commands write."""
