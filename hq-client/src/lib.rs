//! Client of a running engine: connect, submit, wait, stream.
