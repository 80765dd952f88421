use std::{io, path::PathBuf};

use hq_core::{Epoch, Seq};

use crate::Holder;

/// Why a batch was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The epoch is over, or the batch does not join on to what is there.
    #[error(
        "the journal goes on with record {next} of epoch {epoch}, not with record {first} of epoch {old}; its holder is {holder}"
    )]
    Fenced {
        /// Who may append, as far as the journal knows.
        holder: Holder,
        /// The least epoch that is taken.
        epoch: Epoch,
        /// The next record.
        next: Seq,
        /// The epoch that was given.
        old: Epoch,
        /// The record that was given.
        first: Seq,
    },
    /// The journal can keep nothing more.
    #[error("{reason}")]
    Failed {
        /// What happened first.
        reason: String,
    },
    /// The batch is too large to be kept as one.
    #[error("a batch of {bytes} bytes is too large for the journal, which takes at most {max}")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// A record has no form in the journal. Nothing of the engine is such a record.
    #[error("a record cannot be written to the journal: {reason}")]
    Encoding {
        /// What is wrong with it.
        reason: String,
    },
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It was dropped, as [`Journal::retire`](crate::Journal::retire) allowed.
    #[error("record {from} is no longer in the journal, whose first one is {first}")]
    Retired {
        /// What was asked for.
        from: Seq,
        /// What is still there.
        first: Seq,
    },
    /// It is whole, but this program does not understand it.
    #[error(
        "records from {first} at byte {offset} of the journal cannot be understood ({reason}); a newer version may have written them"
    )]
    Unknown {
        /// First record of its batch.
        first: Seq,
        /// Start of its frame.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The middle of a file is damaged, and whole records follow.
    #[error("journal `{}` is damaged at byte {offset}, and valid records follow", path.display())]
    Hole {
        /// The file.
        path: PathBuf,
        /// Start of the damage.
        offset: u64,
    },
    /// The file was changed since it was opened.
    #[error("the journal was damaged at byte {offset} while it was in use")]
    Damaged {
        /// Start of the damage.
        offset: u64,
    },
    /// The file cannot be read.
    #[error("cannot read the journal")]
    Io(#[from] io::Error),
}

/// Why a file cannot be used as a journal. It is left as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server works on it.
    #[error("journal `{}` is in use by {}; stop that server or use another file", path.display(), holder_text(holder.as_ref()))]
    Held {
        /// The file.
        path: PathBuf,
        /// Who, if it could be found out.
        holder: Option<Holder>,
    },
    /// It was not written by this program.
    #[error("`{}` is not a journal; move it away or use another file", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// A later version of the program wrote it.
    #[error("journal `{}` has format {found}, and this program knows none past {known}; use the version that wrote it", path.display())]
    Future {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format known.
        known: u32,
    },
    /// The header does not check.
    #[error("journal `{}` is damaged in its header; restore it from a copy", path.display())]
    DamagedHeader {
        /// The file.
        path: PathBuf,
    },
    /// Something is wrong in the middle.
    #[error("journal `{}` is damaged at byte {offset}, record {next}, and {after} valid records follow from byte {resumes}; restore it from a copy", path.display())]
    Hole {
        /// The file.
        path: PathBuf,
        /// Start of the damage.
        offset: u64,
        /// The record that should be there.
        next: Seq,
        /// Start of what is whole again.
        resumes: u64,
        /// How many whole records follow.
        after: u64,
    },
    /// A whole frame is where it does not belong.
    #[error("journal `{}` goes on with record {found} of epoch {epoch} at byte {offset} where record {next} of epoch {least} or later belongs; restore it from a copy", path.display())]
    Disorder {
        /// The file.
        path: PathBuf,
        /// Start of the frame.
        offset: u64,
        /// The record that should be there.
        next: Seq,
        /// The record that is there.
        found: Seq,
        /// The least epoch that could follow.
        least: Epoch,
        /// The epoch that is there.
        epoch: Epoch,
    },
    /// The system refused something.
    #[error("cannot {action} journal `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

fn holder_text(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), Holder::to_string)
}

/// Why a journal did not end well: what was appended after the last [`Durability::UpTo`](crate::Durability::UpTo) is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CloseError {
    /// What happened first.
    pub reason: String,
}
