//! The seam to allocators: ask for machines, follow them, give them back.
