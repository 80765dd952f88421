use hq_core::{Gap, placeholder};

/// The warning of names in `template` that stand for nothing: neither placeholders nor `gaps`.
pub(crate) fn unknown(template: &[u8], gaps: &[Gap], place: &str) -> Option<String> {
    unknown_of(template, place, |name| placeholder::NAMES.contains(&name) || gaps.iter().any(|gap| gap.name == name))
}

/// The same for the path of a stream directory, which knows of the job only.
pub(crate) fn unknown_in_stream(template: &[u8]) -> Option<String> {
    unknown_of(template, "log path", |name| ["JOB_ID", "SUBMIT_DIR", "SERVER_UID"].contains(&name))
}

fn unknown_of(template: &[u8], place: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let names = placeholder::names(template);
    let unknown: Vec<String> = names.into_iter().filter(|name| !is_known(name)).collect();
    let plural = if unknown.len() == 1 { "" } else { "s" };
    let text = format!("Found unknown placeholder{plural} `{}` in {place}", unknown.join(", "));
    (!unknown.is_empty()).then_some(text)
}

/// The error of a working directory that would have to be known before itself.
pub(crate) fn has_cwd(template: &[u8]) -> Option<&'static str> {
    const ERROR: &str = "Working directory path cannot contain the working directory placeholder `%{CWD}`.";
    placeholder::names(template).iter().any(|name| name == "CWD").then_some(ERROR)
}
