use std::os::raw::c_char;

/// C strings end to end, for `execve`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StringTable {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

/// A text that holds a zero byte, which no program can be given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HasNul;

impl StringTable {
    /// Appends one string, made of `parts`.
    pub(crate) fn push(&mut self, parts: &[&[u8]]) -> Result<(), HasNul> {
        if parts.iter().any(|part| part.contains(&0)) {
            return Err(HasNul);
        }
        self.starts.push(self.bytes.len());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.push(0);
        Ok(())
    }

    /// All strings but the first.
    pub(crate) fn without_first(&self) -> Self {
        let from = self.starts.get(1).copied().unwrap_or(self.bytes.len());
        let starts = self.starts.iter().skip(1).map(|start| start - from).collect();
        Self { bytes: self.bytes[from..].to_vec(), starts }
    }

    /// All strings, each with the zero byte that ends it.
    #[cfg(test)]
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Addresses of the strings, good until the table changes or goes.
    pub(super) fn pointers(&self) -> impl Iterator<Item = *const c_char> + '_ {
        self.starts.iter().map(|start| self.bytes[*start..].as_ptr().cast())
    }
}
