use hq_backend::CommandOutput;

/// A command and what it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The line as it was typed.
    pub command: String,
    /// How it ended.
    pub output: CommandOutput,
}

/// Reads a record of commands: a line `$ COMMAND`, its output with `2> ` before lines of errors, and `[rc=N]`.
/// Everything between two commands is a remark.
pub fn transcript(text: &str) -> Vec<Recorded> {
    let mut all = Vec::new();
    let mut current: Option<(String, String, String)> = None;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            current = Some((command.to_owned(), String::new(), String::new()));
            continue;
        }
        let Some((command, out, err)) = &mut current else { continue };
        // An output without an end of line has the code right behind it.
        let (said, code) = match line.rsplit_once("[rc=").and_then(|(said, code)| Some((said, code.strip_suffix(']')?)))
        {
            Some((said, code)) => (said, code.parse::<i32>().ok()),
            None => (line, None),
        };
        match said.strip_prefix("2>") {
            Some(said) => *err += &format!("{}\n", said.strip_prefix(' ').unwrap_or(said)),
            None if code.is_some() => *out += said,
            None => *out += &format!("{said}\n"),
        }
        if code.is_some() {
            let output = CommandOutput { code, stdout: out.clone().into(), stderr: err.clone().into(), is_cut: false };
            all.push(Recorded { command: command.clone(), output });
            current = None;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::answer;

    #[test]
    fn answers_are_told_apart() {
        let text = "## x\n$ a b\nout\n2> err\n2> \n[rc=1]\n\nremark\n$ c\n{\n}[rc=0]\n$ d\nno end\n";
        let a = Recorded { command: "a b".into(), output: answer(1, "out\n", "err\n\n") };
        let c = Recorded { command: "c".into(), output: answer(0, "{\n}", "") };
        assert_eq!(transcript(text), [a, c]);
    }
}
