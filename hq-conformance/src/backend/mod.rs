//! What any [`AllocatorBackend`](hq_backend::AllocatorBackend) has to keep: each promise is a function of its own.
//!
//! [`test_all`] runs them. A promise that the backend's [`Capability`](hq_backend::Capability) does not make, or that
//! the fixture cannot try, is skipped, and the [`Report`] says why.

mod batch;
mod fixture;
mod life;
mod many;
mod report;
mod search;
mod suite;

pub use batch::{
    a_request_without_files_is_refused, a_used_directory_is_refused, names_keep_out_what_is_no_name,
    the_files_of_an_allocation_are_private,
};
pub use fixture::BackendFixture;
pub use life::{
    a_refusal_leaves_nothing, a_time_limit_ends_it, an_allocation_lives_until_it_is_cancelled,
    too_many_workers_are_refused, validation_leaves_nothing, what_is_not_known_has_ended,
};
pub use many::{calls_run_at_the_same_time, ids_differ, several_workers_are_one_allocation, status_keeps_the_order};
pub use report::Report;
pub use search::{it_can_be_found_by_its_key, it_is_found_after_a_restart};
pub use suite::test_all;
