use hq_core::{Gap, placeholder};

/// The warning of names in `template` that stand for nothing: neither placeholders nor `gaps`.
pub(crate) fn unknown(template: &[u8], gaps: &[Gap], place: &str) -> Option<String> {
    let gaps = gaps.iter().map(|gap| gap.name.as_str());
    unknown_of(template, place, &placeholder::NAMES.into_iter().chain(gaps).collect::<Vec<_>>())
}

/// The same for the path of a stream directory, which knows of the job only.
pub(crate) fn unknown_in_stream(template: &[u8]) -> Option<String> {
    unknown_of(template, "log path", &["JOB_ID", "SUBMIT_DIR", "SERVER_UID"])
}

fn unknown_of(template: &[u8], place: &str, known: &[&str]) -> Option<String> {
    let names = placeholder::names(template);
    let unknown: Vec<String> = names.into_iter().filter(|name| !known.contains(&name.as_str())).collect();
    let plural = if unknown.len() == 1 { "" } else { "s" };
    let text = format!("Found unknown placeholder{plural} `{}` in {place}", unknown.join(", "));
    (!unknown.is_empty()).then_some(text)
}

/// The error of a working directory that would have to be known before itself.
pub(crate) fn has_cwd(template: &[u8]) -> Option<&'static str> {
    const ERROR: &str = "Working directory path cannot contain the working directory placeholder `%{CWD}`.";
    placeholder::names(template).iter().any(|name| name == "CWD").then_some(ERROR)
}
