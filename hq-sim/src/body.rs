use hq_core::{Blob, Span};

/// The kind of body that simulated workers run.
pub const SIM_KIND: &str = "sim";

/// What a simulated run does: the content of a body of kind [`SIM_KIND`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// How long it runs.
    pub takes: Span,
    /// In how many of a hundred runs it fails.
    pub fails_percent: u8,
}

impl RunSpec {
    /// One that ends well after that long.
    pub const fn takes(takes: Span) -> Self {
        Self { takes, fails_percent: 0 }
    }

    /// As the shared part of a body, or a task's own one.
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = self.takes.0.to_le_bytes().to_vec();
        bytes.push(self.fails_percent);
        bytes
    }

    /// The same, to be shared.
    pub fn blob(self) -> Blob {
        self.bytes().into()
    }

    /// What a body says; none for one that is not ours.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (takes, rest) = bytes.split_first_chunk::<8>()?;
        match rest {
            [fails_percent] => Some(Self { takes: Span(u64::from_le_bytes(*takes)), fails_percent: *fails_percent }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_back() {
        let spec = RunSpec { takes: Span::millis(1234), fails_percent: 7 };
        assert_eq!(RunSpec::read(&spec.bytes()), Some(spec));
        assert_eq!(RunSpec::read(b"echo hello"), None);
    }
}
