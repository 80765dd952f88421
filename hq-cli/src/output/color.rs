/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorPolicy {
    /// When standard output is a terminal that is not `dumb`, and `NO_COLOR` is not set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorPolicy {
    /// Whether colours are to be used.
    pub(crate) fn resolve(self, is_terminal: bool, no_color: bool) -> bool {
        match self {
            Self::Auto => is_terminal && !no_color,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// A colour of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    BrightRed,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Color {
    /// `text` between the codes that switch the colour on and off.
    pub(crate) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Red => 31,
            Self::BrightRed => 91,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
            Self::Magenta => 35,
            Self::Cyan => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::ColorPolicy;

    #[test]
    fn colours_follow_policy_terminal_and_no_color() {
        for (policy, is_terminal, no_color, expected) in [
            (ColorPolicy::Auto, true, false, true),
            (ColorPolicy::Auto, true, true, false),
            (ColorPolicy::Auto, false, false, false),
            (ColorPolicy::Always, false, true, true),
            (ColorPolicy::Never, true, false, false),
        ] {
            assert_eq!(policy.resolve(is_terminal, no_color), expected, "{policy:?} {is_terminal} {no_color}");
        }
    }
}
