use std::fmt;

/// Which promises were tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Those that were kept, in order.
    pub kept: Vec<&'static str>,
    /// Those that were not tried, with the reason.
    pub skipped: Vec<(&'static str, &'static str)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.kept {
            writeln!(f, "kept    {name}")?;
        }
        for (name, reason) in &self.skipped {
            writeln!(f, "skipped {name}: {reason}")?;
        }
        Ok(())
    }
}
