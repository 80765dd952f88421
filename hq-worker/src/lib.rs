//! Carries processes, files and links for the worker machine.
