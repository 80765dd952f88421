//! Programs with gaps, so that tasks which differ in a few words share the rest.

use serde::{Deserialize, Serialize};

use crate::{Blob, ProgramSpec, Stdio, placeholder};

/// A program with gaps. A task's own part is the list of values that fill them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramTemplate {
    /// The program; its own `args` are not used. In its paths, `%{NAME}` of a gap stands for the value.
    pub spec: ProgramSpec,
    /// The program and its arguments, each in pieces.
    pub args: Vec<Vec<Piece>>,
    /// What is filled in, in the order of the values.
    pub gaps: Vec<Gap>,
}

/// A piece of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// As it is.
    Text(Blob),
    /// The value of the gap with this index; nothing where there is none.
    Gap(u32),
}

/// Something that differs from task to task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Its name as a placeholder of paths; empty: it is none.
    pub name: String,
    /// The variable of the environment that has the value; empty: none has.
    pub env: String,
}

impl ProgramTemplate {
    /// The program of the task with these values. Variables are left to who makes the environment.
    pub fn fill(&self, values: &[Blob]) -> ProgramSpec {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.to_vec(),
            Piece::Gap(index) => values.get(*index as usize).map(|value| value.to_vec()).unwrap_or_default(),
        };
        let path = |template: &Blob| {
            let value = |name: &[u8]| {
                let index = self.gaps.iter().position(|gap| !gap.name.is_empty() && gap.name.as_bytes() == name)?;
                values.get(index).map(|value| value.to_vec())
            };
            Blob::from(placeholder::fill_with(template, value))
        };
        let output = |stdio: &Stdio| match stdio {
            Stdio::File { path: template, on_close } => Stdio::File { path: path(template), on_close: *on_close },
            other => other.clone(),
        };
        let mut spec = self.spec.clone();
        spec.args = self.args.iter().map(|arg| arg.iter().flat_map(piece).collect::<Vec<u8>>().into()).collect();
        spec.cwd = path(&spec.cwd);
        spec.stdout = output(&spec.stdout);
        spec.stderr = output(&spec.stderr);
        spec
    }

    /// An argument in pieces: `%{NAME}` of a gap is one, the rest is text.
    pub fn pieces(gaps: &[Gap], arg: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut text, mut rest) = (Vec::new(), arg);
        while let Some((before, name, after)) = placeholder::split(rest) {
            text.extend_from_slice(before);
            match gaps.iter().position(|gap| !gap.name.is_empty() && gap.name.as_bytes() == name) {
                Some(index) => {
                    if !text.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                    }
                    pieces.push(Piece::Gap(index as u32));
                }
                None => text.extend_from_slice(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
        text.extend_from_slice(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text.into()));
        }
        pieces
    }

    /// The variables of the task with these values.
    pub fn variables<'a>(&'a self, values: &'a [Blob]) -> impl Iterator<Item = (&'a str, &'a Blob)> {
        let named = self.gaps.iter().map(|gap| gap.env.as_str()).zip(values);
        named.filter(|(name, _)| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OnClose;

    #[test]
    fn gaps_are_filled_once() {
        let blob = |text: &str| Blob::from(text.as_bytes());
        let gap = |name: &str, env: &str| Gap { name: name.into(), env: env.into() };
        let file = |path: &str| Stdio::File { path: blob(path), on_close: OnClose::Keep };
        let template = ProgramTemplate {
            spec: ProgramSpec { cwd: blob("%{x}/%{TASK_ID}"), stdout: file("%{y}%{}%{x}"), ..ProgramSpec::default() },
            args: vec![
                vec![Piece::Text(blob("p"))],
                vec![Piece::Text(blob("a=")), Piece::Gap(0), Piece::Gap(1)],
                vec![Piece::Gap(9)],
                vec![],
            ],
            gaps: vec![gap("x", "X"), gap("", "E"), gap("y", "")],
        };
        let values = [blob("%{y}"), blob("2"), blob("3")];
        let spec = template.fill(&values);
        assert_eq!(spec.args, ["p", "a=%{y}2", "", ""].map(blob));
        assert_eq!((spec.cwd, spec.stdout, spec.stderr), (blob("%{y}/%{TASK_ID}"), file("3%{}%{y}"), Stdio::Null));
        let variables: Vec<_> = template.variables(&values).collect();
        assert_eq!(variables, [("X", &blob("%{y}")), ("E", &blob("2"))]);
        let text = |text: &str| Piece::Text(blob(text));
        for (arg, pieces) in [
            ("a%{x}b%{z}%{y}", vec![text("a"), Piece::Gap(0), text("b%{z}"), Piece::Gap(2)]),
            ("%{}%{", vec![text("%{}%{")]),
            ("", vec![]),
        ] {
            assert_eq!(ProgramTemplate::pieces(&template.gaps, arg.as_bytes()), pieces, "{arg}");
        }
        assert_eq!(template.fill(&[]).cwd, blob("%{x}/%{TASK_ID}"), "what is not there stays");
    }
}
