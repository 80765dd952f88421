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
    /// Another process has taken the journal over, or its file is gone: nothing more is safe.
    #[error("the journal was {}; this server must end", taken(holder.as_ref()))]
    TakenOver {
        /// Who has it now, if it could be found out.
        holder: Option<Holder>,
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
        "records from {first} at byte {offset} of journal `{}` cannot be understood ({reason}); a newer version may have written them",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// First record of its batch.
        first: Seq,
        /// Start of its frame.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The middle of a file is damaged, and whole records follow.
    #[error("{why}")]
    Hole {
        /// The file.
        path: PathBuf,
        /// Start of the damage.
        offset: u64,
        /// What it is.
        why: Box<OpenError>,
    },
    /// The file was changed since it was opened.
    #[error("journal `{}` was damaged at byte {offset} while it was in use", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
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
    #[error("journal `{}` is in use by {}; stop that server or use another file, or take it over with `--takeover` where that server is gone for good", path.display(), holder_text(holder.as_ref()))]
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
    #[error("journal `{}` is damaged at byte {offset}, record {next}, and {after} valid records follow from byte {resumes}; restore it from a copy, or see `hq journal repair --help`", path.display())]
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
    /// Something that was safe is missing at the end.
    #[error("journal `{}` is damaged at byte {offset}, record {next}, and nothing valid follows; restore it from a copy, or see `hq journal repair --help`", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Start of the damage.
        offset: u64,
        /// The record that should be there.
        next: Seq,
    },
    /// One bit is wrong.
    #[error("bit {bit} of byte {offset} of journal `{}` is wrong, in record {next}; restore it from a copy, or run `hq journal repair` on it", path.display())]
    Flip {
        /// The file.
        path: PathBuf,
        /// The byte.
        offset: u64,
        /// The bit in it, the lowest is 0.
        bit: u8,
        /// First record of the batch.
        next: Seq,
    },
    /// A sealed file is not there.
    #[error("journal `{}` lacks records {first} to {last}: `{}` is not there", path.display(), name.display())]
    Missing {
        /// The journal.
        path: PathBuf,
        /// The first record that is missing.
        first: Seq,
        /// The last one.
        last: Seq,
        /// The file that should have it.
        name: PathBuf,
    },
    /// Sealed files are there, and not the one that goes on after them.
    #[error("journal `{}` is not there, but `{}` is, a part of one; restore the one or move the other away, or see `hq journal repair --help`", path.display(), name.display())]
    NoActive {
        /// The journal.
        path: PathBuf,
        /// The last part.
        name: PathBuf,
    },
    /// A whole frame is where it does not belong.
    #[error("journal `{}` goes on with record {found} of epoch {epoch} at byte {offset} where record {next} of epoch {least} or later belongs; restore it from a copy, or see `hq journal repair --help`", path.display())]
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

fn taken(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "moved or removed".to_owned(), |holder| format!("taken over by {holder}"))
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
