use hq_backend::AllocatorBackend as _;

use super::{batch, fixture::BackendFixture, life, many, report::Report, search};

/// Tries every promise, one after the other.
///
/// # Panics
/// Where the backend does not keep one; the message says what, the backtrace which.
pub async fn test_all<F: BackendFixture>(fixture: &mut F) -> Report {
    let mut report = Report::default();
    let can = fixture.backend().capability();
    macro_rules! promises {
        ($($module:ident :: $name:ident $(, unless $reason:literal if $lack:expr)*;)*) => {$(
            let lacks = None::<&'static str>$(.or_else(|| $lack.then_some($reason)))*;
            match lacks {
                None => {
                    $module::$name(fixture).await;
                    report.kept.push(stringify!($name));
                }
                Some(reason) => report.skipped.push((stringify!($name), reason)),
            }
        )*};
    }
    promises! {
        life::an_allocation_lives_until_it_is_cancelled;
        life::what_is_not_known_has_ended;
        life::too_many_workers_are_refused;
        life::a_refusal_leaves_nothing;
        life::validation_leaves_nothing, unless "the manager cannot be asked" if !can.validate;
        many::ids_differ;
        many::status_keeps_the_order;
        many::calls_run_at_the_same_time;
        many::several_workers_are_one_allocation, unless "allocations have one worker" if can.workers_max < 2;
        search::it_can_be_found_by_its_key;
        search::it_is_found_after_a_restart,
            unless "nothing of an earlier process is found" if !can.find,
            unless "the fixture has no second process" if fixture.restarted().is_none();
        batch::a_request_without_files_is_refused, unless "there are no scripts" if !can.batch;
        batch::the_files_of_an_allocation_are_private, unless "there are no scripts" if !can.batch;
        batch::a_used_directory_is_refused, unless "there are no scripts" if !can.batch;
        batch::names_keep_out_what_is_no_name, unless "there are no scripts" if !can.batch;
    }
    let name = "a_time_limit_ends_it";
    if !can.time_limit {
        report.skipped.push((name, "the backend ends nothing by itself"));
    } else if life::a_time_limit_ends_it(fixture).await {
        report.kept.push(name);
    } else {
        report.skipped.push((name, "the fixture cannot make time pass"));
    }
    report
}
