use std::{fs, path::Path};

use hq_core::ResourceKind;

/// Whose GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuKind {
    /// NVIDIA's.
    Nvidia,
    /// AMD's.
    Amd,
}

impl GpuKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Nvidia, Self::Amd];

    /// The name of the resource.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Nvidia => "gpus/nvidia",
            Self::Amd => "gpus/amd",
        }
    }

    /// The variable that says which of them may be used.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Nvidia => "CUDA_VISIBLE_DEVICES",
            Self::Amd => "ROCR_VISIBLE_DEVICES",
        }
    }
}

/// The GPUs of this machine: those that variables of the environment name, by whatever labels; else those that NVIDIA's
/// driver lists, numbered from 0. `lookup` reads the environment.
pub fn find_gpus(root: &Path, lookup: impl Fn(&str) -> Option<String>) -> Vec<(GpuKind, ResourceKind)> {
    let named = GpuKind::ALL.into_iter().filter_map(|kind| {
        let labels = labels(kind, &lookup(kind.variable())?);
        (!labels.is_empty()).then_some((kind, ResourceKind::List(labels)))
    });
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let count = fs::read_dir(root.join("proc/driver/nvidia/gpus")).map_or(0, |entries| entries.flatten().count());
    let end = u32::try_from(count).ok().and_then(|count| count.checked_sub(1));
    end.map(|end| (GpuKind::Nvidia, ResourceKind::Range { start: 0, end })).into_iter().collect()
}

fn labels(kind: GpuKind, value: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for label in value.split(',').map(str::trim).filter(|label| !label.is_empty()) {
        if labels.iter().any(|known| known == label) {
            tracing::warn!("{} names `{label}` more than once: it counts once", kind.variable());
        } else {
            labels.push(label.to_owned());
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn found(env: &[(&str, &str)], listed: usize) -> Vec<(&'static str, String)> {
        let root = TempDir::new().expect("a directory");
        let driver = root.path().join("proc/driver/nvidia/gpus");
        (0..listed).for_each(|i| fs::create_dir_all(driver.join(i.to_string())).expect("made"));
        let lookup = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let text = |kind| match kind {
            ResourceKind::List(labels) => labels.join(","),
            ResourceKind::Range { start, end } => format!("{start}-{end}"),
            other => format!("{other:?}"),
        };
        find_gpus(root.path(), lookup).into_iter().map(|(gpus, kind)| (gpus.resource(), text(kind))).collect()
    }

    #[test]
    fn vectors() {
        const CUDA: &str = "CUDA_VISIBLE_DEVICES";
        const ROCR: &str = "ROCR_VISIBLE_DEVICES";
        for (env, listed, expected) in [
            (&[(CUDA, "1,3")][..], 8, &[("gpus/nvidia", "1,3")][..]),
            (&[(CUDA, "foo, bar")], 0, &[("gpus/nvidia", "foo,bar")]),
            (&[(CUDA, "1,1,2")], 0, &[("gpus/nvidia", "1,2")]),
            (&[(ROCR, "1")], 4, &[("gpus/amd", "1")]),
            (&[(CUDA, "0"), (ROCR, "1")], 0, &[("gpus/nvidia", "0"), ("gpus/amd", "1")]),
            (&[(CUDA, "")], 2, &[("gpus/nvidia", "0-1")]),
            (&[], 1, &[("gpus/nvidia", "0-0")]),
            (&[], 0, &[]),
        ] {
            let found = found(env, listed);
            let found: Vec<_> = found.iter().map(|(name, text)| (*name, text.as_str())).collect();
            assert_eq!(found, expected, "{env:?} {listed}");
        }
    }
}
