//! The embeddable task engine.
