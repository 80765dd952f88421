//! `{}` and its relatives.

/// A piece of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is.
    Text(Vec<u8>),
    /// Something of the arguments.
    Slot(Slot),
}

/// Something that is put into the command of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// `{#}`
    Number,
    /// All arguments, one after the other.
    All(Part),
    /// The argument at that index, from 0.
    One(usize, Part),
}

/// What of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// Without extension.
    NoExtension,
    /// Behind the last slash.
    Base,
    /// Before the last slash; `.` where there is none.
    Directory,
    /// [`Base`](Self::Base) without extension.
    BaseNoExtension,
}

/// The command in pieces. Where no argument is put into it, all of them go behind it.
pub(super) fn pieces(command: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut text, mut at) = (Vec::new(), 0);
    while at < command.len() {
        let end = command[at..].iter().position(|byte| *byte == b'}').filter(|_| command[at] == b'{');
        match end.and_then(|end| Some((slot(&command[at + 1..at + end])?, end))) {
            Some((slot, end)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Slot(slot));
                at += end + 1;
            }
            None => {
                text.push(command[at]);
                at += 1;
            }
        }
    }
    let takes_arguments = |piece: &Piece| matches!(piece, Piece::Slot(Slot::All(_) | Slot::One(..)));
    let without = !pieces.iter().any(takes_arguments);
    if without {
        text.push(b' ');
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    if without {
        pieces.push(Piece::Slot(Slot::All(Part::Whole)));
    }
    pieces
}

fn slot(name: &[u8]) -> Option<Slot> {
    if name == b"#" {
        return Some(Slot::Number);
    }
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let part = match &name[digits..] {
        b"" => Part::Whole,
        b"." => Part::NoExtension,
        b"/" => Part::Base,
        b"//" => Part::Directory,
        b"/." => Part::BaseNoExtension,
        _ => return None,
    };
    if digits == 0 {
        return Some(Slot::All(part));
    }
    let number: usize = std::str::from_utf8(&name[..digits]).ok()?.parse().ok()?;
    Some(Slot::One(number.checked_sub(1)?, part))
}

impl Part {
    fn of(self, value: &[u8]) -> Vec<u8> {
        let slash = value.iter().rposition(|byte| *byte == b'/');
        let base = slash.map_or(0, |slash| slash + 1);
        let dot = value.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot >= base);
        match self {
            Self::Whole => value.to_vec(),
            Self::NoExtension => value[..dot.unwrap_or(value.len())].to_vec(),
            Self::Base => value[base..].to_vec(),
            Self::BaseNoExtension => value[base..dot.unwrap_or(value.len())].to_vec(),
            Self::Directory => match slash {
                None => b".".to_vec(),
                Some(0) => b"/".to_vec(),
                Some(slash) => value[..slash].to_vec(),
            },
        }
    }
}

impl Slot {
    /// What is put in for task `number` with these arguments, quoted for a shell. None where an argument holds a zero byte.
    pub(super) fn value(self, number: u32, arguments: &[&[u8]]) -> Option<Vec<u8>> {
        let quoted =
            |part: Part, value: &[u8]| shlex::bytes::try_quote(&part.of(value)).ok().map(|value| value.into_owned());
        match self {
            Self::Number => Some(number.to_string().into_bytes()),
            Self::One(index, part) => arguments.get(index).map_or(Some(vec![]), |value| quoted(part, value)),
            Self::All(part) => {
                let all = arguments.iter().map(|value| quoted(part, value)).collect::<Option<Vec<_>>>()?;
                Some(all.join(&b' '))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    /// Rows `replace`: a command, a bar, and the arguments of task 7.
    #[test]
    fn vectors() {
        table::check("run_replace.txt", |_, text| {
            let (command, arguments) = text.split_once(" | ").expect("a bar");
            let arguments: Vec<&[u8]> = arguments.split(',').map(str::as_bytes).collect();
            let fill = |piece: Piece| match piece {
                Piece::Text(text) => text,
                Piece::Slot(slot) => slot.value(7, &arguments).expect("no zero byte"),
            };
            let filled: Vec<u8> = pieces(command.as_bytes()).into_iter().flat_map(fill).collect();
            String::from_utf8_lossy(&filled).into_owned()
        });
    }

    #[test]
    fn zero_bytes_go_nowhere() {
        assert_eq!(Slot::All(Part::Whole).value(1, &[b"a\0"]), None);
        assert!(Slot::One(0, Part::Whole).value(1, &[b"\xff"]).is_some());
    }
}
