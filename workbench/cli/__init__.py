"""The commands of the `workbench` command line, one module each."""
