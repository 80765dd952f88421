use std::{
    io::{self, IsTerminal},
    thread,
};

use anyhow::{Context as _, bail};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event},
    layout::Rect,
};
use tokio::sync::mpsc;

use super::{model::Model, view};

/// Keys that wait to be looked at.
const KEYS_MAX: usize = 64;

/// The terminal as the dashboard has it. Dropped, it is as it was found.
pub(super) struct Screen(DefaultTerminal);

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// Where there is none; nothing has changed then.
    pub(super) fn open() -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            bail!(
                "the dashboard needs a terminal for its input and output; elsewhere use `hq job list` or `hq journal stream`"
            );
        }
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                // It may have been half done.
                let _ = ratatui::try_restore();
                Err(error).context("cannot take over the terminal")
            }
        }
    }

    /// Shows the model.
    pub(super) fn draw(&mut self, model: &Model) -> anyhow::Result<()> {
        self.0.draw(|frame| view::draw(model, frame)).context("cannot write to the terminal")?;
        Ok(())
    }

    /// Draws everything anew the next time, whatever is on the screen.
    pub(super) fn redraw(&mut self) -> anyhow::Result<()> {
        // `clear` would ask the terminal where its cursor is, and its answer would come among the keys.
        let size = self.0.size().context("cannot ask the terminal for its size")?;
        self.0.resize(Rect::new(0, 0, size.width, size.height)).context("cannot write to the terminal")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody could be told but on this terminal.
        let _ = self.0.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// What comes from the terminal; the last item is why nothing more does.
pub(super) fn events() -> mpsc::Receiver<io::Result<Event>> {
    let (sender, receiver) = mpsc::channel(KEYS_MAX);
    // It blocks in a read, and goes with the process.
    thread::spawn(move || {
        loop {
            let event = event::read();
            let is_last = event.is_err();
            if sender.blocking_send(event).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
