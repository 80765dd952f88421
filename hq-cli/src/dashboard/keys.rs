use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::{Action, Tab};

/// What a key means, if anything.
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Action::Quit),
            KeyCode::Char('l') => Some(Action::Redraw),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char('j') => Action::Show(Tab::Jobs),
        KeyCode::Char('a') => Action::Show(Tab::Queues),
        KeyCode::Char('w') => Action::Show(Tab::Workers),
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('o') => Action::Earlier,
        KeyCode::Char('p') => Action::Later,
        KeyCode::Char('k') => Action::Closer,
        KeyCode::Char('l') => Action::Farther,
        KeyCode::Char('r') => Action::Latest,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Up => Action::Move(-1),
        KeyCode::Down => Action::Move(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Home => Action::Home,
        KeyCode::End => Action::End,
        KeyCode::Tab | KeyCode::BackTab => Action::Other,
        KeyCode::Enter | KeyCode::Right => Action::Enter,
        KeyCode::Esc | KeyCode::Left => Action::Back,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_contract() {
        let key = |c| action(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        for (c, expected) in [
            ('j', Some(Action::Show(Tab::Jobs))),
            ('a', Some(Action::Show(Tab::Queues))),
            ('w', Some(Action::Show(Tab::Workers))),
            ('q', Some(Action::Quit)),
            ('o', Some(Action::Earlier)),
            ('p', Some(Action::Later)),
            ('k', Some(Action::Closer)),
            ('l', Some(Action::Farther)),
            ('r', Some(Action::Latest)),
            ('x', None),
        ] {
            assert_eq!(key(c), expected, "{c}");
        }
        assert_eq!(action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::Quit));
        assert_eq!(action(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::CONTROL)), None);
        let up = KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(action(up), None);
    }
}
