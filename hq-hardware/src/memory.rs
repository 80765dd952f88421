use std::{fs, path::Path};

use hq_core::{Amount, ResourceKind};

/// The memory of this machine, or of the batch job where that says how many MiB it has, in MiB.
pub fn find_memory(root: &Path, of_batch_job: Option<&str>) -> Option<ResourceKind> {
    let granted = of_batch_job.and_then(|mib| mib.trim().parse::<u32>().ok()).filter(|mib| *mib > 0);
    let amount = granted.map(Amount::units).or_else(|| {
        let kib = memory_info(root)?.0 / 1024;
        // A MiB has 1,024 KiB and an amount 10,000 parts.
        Some(Amount::from_parts(u64::try_from(u128::from(kib) * u128::from(Amount::PARTS) / 1024).ok()?))
    });
    amount.filter(|amount| !amount.is_zero()).map(ResourceKind::Sum)
}

/// Bytes of memory, and those of them that programs could still get.
pub(crate) fn memory_info(root: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let total = bytes("MemTotal")?;
    Some((total, bytes("MemAvailable").or_else(|| bytes("MemFree")).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn memory_is_counted_in_mib() {
        let root = TempDir::new().expect("a directory");
        fs::create_dir(root.path().join("proc")).expect("made");
        let file = root.path().join("proc/meminfo");
        for (info, job, expected) in [
            ("MemTotal:       4096 kB\nMemFree: 1 kB\n", None, Some(40_000)),
            ("MemTotal:  16384123 kB\n", None, Some(160_001_201)),
            ("MemTotal: 4096 kB\n", Some("2000"), Some(20_000_000)),
            ("MemTotal: 4096 kB\n", Some("much"), Some(40_000)),
            ("MemTotal: 4096 kB\n", Some("0"), Some(40_000)),
            ("", None, None),
        ] {
            fs::write(&file, info).expect("written");
            let expected = expected.map(|parts| ResourceKind::Sum(Amount::from_parts(parts)));
            assert_eq!(find_memory(root.path(), job), expected, "{info:?} {job:?}");
        }
        fs::write(&file, "MemTotal: 8 kB\nMemFree: 1 kB\nMemAvailable: 2 kB\n").expect("written");
        assert_eq!(memory_info(root.path()), Some((8192, 2048)));
    }
}
