use std::collections::BTreeSet;

use hq_core::{Profile, Selector, WorkerInfo};
use tracing::{debug, warn};

use crate::server::Server;

/// Warns of resources that tasks need and no worker has. Nothing is said where there is no worker yet.
///
/// Workers that have them may come later, so that this is no error; most often it is a wrong name.
pub(crate) async fn warn_of_unoffered(server: &Server, profiles: &[Profile]) {
    if needed(profiles).all(|names| names.iter().all(|name| *name == "cpus")) {
        return;
    }
    match server.workers(Selector::All).await {
        Ok(workers) => warning(profiles, &workers).iter().for_each(|text| warn!("{text}")),
        Err(error) => debug!("the workers cannot be looked at: {error}"),
    }
}

/// The resources of each variant of each profile.
fn needed(profiles: &[Profile]) -> impl Iterator<Item = BTreeSet<&str>> {
    let variants = profiles.iter().flat_map(|profile| profile.variants.iter());
    variants.map(|request| request.entries().iter().map(|entry| entry.resource.as_str()).collect())
}

fn warning(profiles: &[Profile], workers: &[WorkerInfo]) -> Option<String> {
    let live = || workers.iter().filter(|worker| worker.ended.is_none());
    live().next()?;
    let offered: BTreeSet<&str> =
        live().flat_map(|worker| worker.config.resources.resources()).map(|def| def.name.as_str()).collect();
    // One variant is enough for a task.
    let stuck = profiles.iter().filter(|profile| {
        needed(std::slice::from_ref(profile)).all(|names| names.iter().any(|name| !offered.contains(name)))
    });
    let names: BTreeSet<&str> = stuck
        .flat_map(|profile| needed(std::slice::from_ref(profile)).flatten())
        .filter(|name| !offered.contains(name))
        .collect();
    let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let what = match shown.len() {
        0 => return None,
        1 => "the resource",
        _ => "the resources",
    };
    let offered: Vec<&str> = offered.into_iter().collect();
    let (names, offered) = (shown.join(", "), offered.join(", "));
    Some(format!("no worker offers {what} {names}: tasks wait for one that does (workers offer: {offered})"))
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, ResourceEntry, Variants};

    use super::*;
    use crate::testing::samples;

    fn profile(variants: &[&[&str]]) -> Profile {
        let request = |entries: &&[&str]| {
            let entries = entries.iter().map(|text| ResourceEntry::parse(text).expect("an entry"));
            Request::new(entries.collect()).expect("a request")
        };
        Profile::new(Variants::new(variants.iter().map(request).collect()).expect("variants"))
    }

    #[test]
    fn names_that_nobody_offers_are_told_once() {
        let workers = samples::workers();
        let offered: BTreeSet<&str> = workers
            .iter()
            .filter(|worker| worker.ended.is_none())
            .flat_map(|worker| worker.config.resources.resources())
            .map(|def| def.name.as_str())
            .collect();
        let known = offered.iter().find(|name| **name != "cpus").expect("one more resource than cpus");
        let one = format!("{known}=1");
        for (profiles, part) in [
            (vec![profile(&[&["cpus=1"]])], None),
            (vec![profile(&[&["cpus=1", &one]])], None),
            (vec![profile(&[&["cpus=1", "gpuz=1"]])], Some("no worker offers the resource `gpuz`: ")),
            (vec![profile(&[&["cpus=1", "gpuz=1"], &["cpus=4"]])], None),
            (vec![profile(&[&["b=1"]]), profile(&[&["a=1"]]), profile(&[&["b=2"]])], Some("resources `a`, `b`: ")),
        ] {
            let text = warning(&profiles, &workers);
            match part {
                Some(part) => assert!(text.as_ref().is_some_and(|text| text.contains(part)), "{text:?}"),
                None => assert_eq!(text, None),
            }
            assert_eq!(warning(&profiles, &[]), None, "nobody is there yet");
        }
    }
}
