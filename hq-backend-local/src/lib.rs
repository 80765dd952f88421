//! The allocator of this machine: starts workers here.
