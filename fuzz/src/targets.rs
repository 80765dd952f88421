use crate::{Target, files, links, nodes, words};

/// All targets.
pub fn targets() -> Vec<Target> {
    [links::targets(), nodes::targets(), files::targets(), words::targets()].into_iter().flatten().collect()
}

/// The target of that name.
pub fn named(name: &str) -> Option<Target> {
    targets().into_iter().find(|target| target.name == name)
}
