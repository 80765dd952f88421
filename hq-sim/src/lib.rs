//! Discrete-event simulator of whole clusters of the real node machines.
