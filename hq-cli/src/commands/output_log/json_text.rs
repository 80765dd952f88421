/// Makes the inside of a JSON string from bytes that come in pieces, which may end within a character.
#[derive(Debug, Default)]
pub(super) struct JsonText {
    /// The beginning of a character.
    rest: Vec<u8>,
}

impl JsonText {
    /// What is complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() - open_end(&self.rest);
        let rest = self.rest.split_off(whole);
        let text = escaped(&self.rest);
        self.rest = rest;
        text
    }

    /// What is left.
    pub(super) fn end(self) -> String {
        escaped(&self.rest)
    }
}

/// Bytes at the end that may be the beginning of a character.
fn open_end(bytes: &[u8]) -> usize {
    let tail = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    // The beginning of a character has an invalid chunk of its own, at the very end; so has a byte that is none.
    let begins = matches!(tail, [0xc2..=0xf4, ..]) && tail.len() < 4;
    if begins && bytes.ends_with(tail) { tail.len() } else { 0 }
}

fn escaped(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pieces: &[&[u8]]) -> String {
        let mut text = JsonText::default();
        let mut all: String = pieces.iter().map(|piece| text.push(piece)).collect();
        all.push_str(&text.end());
        all
    }

    #[test]
    fn pieces_make_the_same_text_as_the_whole() {
        for bytes in [
            &b"plain\n\"quoted\" \\ \x07"[..],
            "ä€😀 ✓".as_bytes(),
            b"bad \xff\xfe\xc3( \xe2\x82 \xf0\x9f\x98 x",
            b"cut \xf0\x9f\x98",
            b"\xe2\x82\xac\xe2\x82",
        ] {
            let whole = serde_json::Value::from(String::from_utf8_lossy(bytes)).to_string();
            for at in 0..=bytes.len() {
                let (first, second) = bytes.split_at(at);
                assert_eq!(format!("\"{}\"", pieces(&[first, second])), whole, "{bytes:?} at {at}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(format!("\"{}\"", pieces(&single)), whole, "{bytes:?}");
        }
    }
}
