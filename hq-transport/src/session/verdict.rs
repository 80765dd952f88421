use super::reader::{Reader, put_program, put_role};
use super::refusal::Refusal;
use crate::peer::Versions;

/// The server's answer to a hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept(Versions),
    Refuse(Refusal),
}

const ACCEPT: u8 = 0;
const PROTOCOL: u8 = 1;
const PROGRAM: u8 = 2;
const ROLE: u8 = 3;
const KEY_REQUIRED: u8 = 4;
const KEY_UNEXPECTED: u8 = 5;
const FORMAT: u8 = 6;

impl Verdict {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Accept(versions) => {
                out.push(ACCEPT);
                out.extend(versions.protocol.to_le_bytes());
                put_program(&versions.program, out);
            }
            Self::Refuse(refusal) => put_refusal(refusal, out),
        }
    }

    /// Reads a verdict; a reason of a newer server becomes [`Refusal::Other`].
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let verdict = match reader.u8()? {
            ACCEPT => {
                let protocol = reader.u16()?;
                Self::Accept(Versions { protocol, program: reader.program()? })
            }
            code => match parse_refusal(code, &mut reader)? {
                other @ Refusal::Other(_) => return Some(Self::Refuse(other)),
                known => Self::Refuse(known),
            },
        };
        reader.end()?;
        Some(verdict)
    }
}

fn put_refusal(refusal: &Refusal, out: &mut Vec<u8>) {
    match refusal {
        Refusal::Protocol { server, peer, program } => {
            out.push(PROTOCOL);
            out.extend(server.to_le_bytes());
            out.extend(peer.to_le_bytes());
            put_program(program, out);
        }
        Refusal::Program { server, peer } => {
            out.push(PROGRAM);
            put_program(server, out);
            put_program(peer, out);
        }
        Refusal::Role { port, peer } => {
            out.push(ROLE);
            put_role(*port, out);
            put_role(*peer, out);
        }
        Refusal::KeyRequired => out.push(KEY_REQUIRED),
        Refusal::KeyUnexpected => out.push(KEY_UNEXPECTED),
        Refusal::Format { server, program } => {
            out.push(FORMAT);
            out.push(*server);
            put_program(program, out);
        }
        Refusal::Other(code) => out.push(*code),
    }
}

fn parse_refusal(code: u8, reader: &mut Reader<'_>) -> Option<Refusal> {
    Some(match code {
        PROTOCOL => Refusal::Protocol { server: reader.u16()?, peer: reader.u16()?, program: reader.program()? },
        PROGRAM => Refusal::Program { server: reader.program()?, peer: reader.program()? },
        ROLE => Refusal::Role { port: reader.role()?, peer: reader.role()? },
        KEY_REQUIRED => Refusal::KeyRequired,
        KEY_UNEXPECTED => Refusal::KeyUnexpected,
        FORMAT => Refusal::Format { server: reader.u8()?, program: reader.program()? },
        other => Refusal::Other(other),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::peer::Role;

    #[test]
    fn round_trip() {
        let program = || "1.2.3".to_owned();
        let refusals = [
            Refusal::Protocol { server: 7, peer: 6, program: program() },
            Refusal::Program { server: program(), peer: "1.2.4-dev".into() },
            Refusal::Role { port: Role::Client, peer: Role::Worker },
            Refusal::KeyRequired,
            Refusal::KeyUnexpected,
            Refusal::Format { server: 2, program: program() },
            Refusal::Other(200),
        ];
        let accept = Verdict::Accept(Versions { protocol: 7, program: program() });
        for verdict in refusals.into_iter().map(Verdict::Refuse).chain([accept]) {
            let mut bytes = Vec::new();
            verdict.put(&mut bytes);
            assert_eq!(Verdict::parse(&bytes), Some(verdict));
        }
    }

    #[test]
    fn texts_for_people() {
        let program = "0.3.0".to_owned();
        let old = Refusal::Protocol { server: 7, peer: 6, program: program.clone() };
        assert_eq!(old.to_string(), "server speaks 7, you speak 6 — use hq ≥ 0.3.0");
        let new = Refusal::Protocol { server: 7, peer: 8, program };
        assert_eq!(new.to_string(), "server speaks 7, you speak 8 — use hq 0.3.0, or a newer server");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Verdict::parse(&bytes);
        }
    }
}
