//! Reads the few fixed layouts of the handshake, which may never depend on a version.

use crate::peer::{Role, Versions};

/// A cursor over the bytes of a handshake message.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*bytes))
    }

    pub(super) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A program version: length and visible ASCII, so that it can be shown.
    pub(super) fn program(&mut self) -> Option<String> {
        let len = self.u8()?;
        let text = str::from_utf8(self.bytes(len.into())?).ok()?;
        Versions::is_valid_program(text).then(|| text.to_owned())
    }

    pub(super) fn role(&mut self) -> Option<Role> {
        match self.u8()? {
            1 => Some(Role::Worker),
            2 => Some(Role::Client),
            _ => None,
        }
    }

    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

pub(super) fn put_program(program: &str, out: &mut Vec<u8>) {
    debug_assert!(Versions::is_valid_program(program), "checked where it entered");
    out.push(program.len() as u8);
    out.extend(program.as_bytes());
}

pub(super) fn put_role(role: Role, out: &mut Vec<u8>) {
    out.push(match role {
        Role::Worker => 1,
        Role::Client => 2,
    });
}
