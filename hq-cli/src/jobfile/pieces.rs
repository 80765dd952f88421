//! A long file in pieces, so that what is kept of its tasks is what is submitted, and not what was written.

use toml_parser::{Source, lexer::TokenKind};

/// A piece is at least as long, but for the last one. Shorter files are one piece.
const PIECE_MIN: usize = 64 << 10;

/// Parts of a file and where they begin. Each but the first begins with the header of a task, and the first has one as
/// well: whatever else defines tasks contradicts it there.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    pieces_of(text, PIECE_MIN)
}

fn pieces_of(text: &str, min: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut headers = headers(text).skip(1);
    let mut rest = Some(0);
    std::iter::from_fn(move || {
        let start = rest?;
        rest = headers.find(|header| *header - start >= min);
        Some((start, &text[start..rest.unwrap_or(text.len())]))
    })
}

/// Where lines begin that are `[[task]]`.
fn headers(text: &str) -> impl Iterator<Item = usize> {
    use TokenKind::{Atom, LeftSquareBracket as Left, RightSquareBracket as Right};
    const HEADER: [TokenKind; 5] = [Left, Left, Atom, Right, Right];
    let (mut start, mut matched) = (0, Some(0));
    // Strings, those of several lines as well, and comments are one token each.
    Source::new(text).lex().filter_map(move |token| {
        let span = token.span();
        if token.kind() == TokenKind::Newline {
            (start, matched) = (span.end(), Some(0));
            return None;
        }
        let at: usize = matched?;
        let is_next = HEADER.get(at) == Some(&token.kind())
            && (token.kind() != Atom || text.get(span.start()..span.end()) == Some("task"));
        matched = is_next.then_some(at + 1);
        matched.filter(|matched| *matched == HEADER.len()).map(|_| start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = \"[[task]]\"\n[[task]]\ncommand = [\"\"\"\n[[task]]\n\"\"\"] # [[task]]\n[[task]]\n\
                        x = '''\n[[task]]\n'''\n[[task.request]]\n[[tasks]]\n[task]\n[[task]] # é\ny = [\n[1]\n]\n";

    #[test]
    fn headers_are_told_from_what_looks_like_them() {
        let found: Vec<usize> = headers(FILE).map(|at| FILE[..at].matches('\n').count() + 1).collect();
        assert_eq!(found, [2, 6, 13]);
    }

    #[test]
    fn pieces_are_the_file() {
        for min in [0, 1, 60, 1000] {
            let pieces: Vec<(usize, &str)> = pieces_of(FILE, min).collect();
            assert_eq!(pieces.iter().map(|(_, piece)| *piece).collect::<String>(), FILE);
            assert!(pieces.iter().all(|(start, piece)| FILE[*start..].starts_with(piece)), "{pieces:?}");
            let starts: Vec<usize> = pieces.iter().skip(1).map(|(start, _)| *start).collect();
            assert!(starts.iter().all(|start| FILE[*start..].starts_with("[[task]]")), "{starts:?}");
        }
        assert_eq!([0, 1000].map(|min| pieces_of(FILE, min).count()), [3, 1]);
        assert_eq!(pieces_of("", 0).collect::<Vec<_>>(), [(0, "")]);
    }
}
