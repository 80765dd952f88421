//! The texts of the resource model: what people write in command lines, job files and programs.
//!
//! ```text
//! DEFINITION = NAME "=" DEF                        what a worker has
//! DEF        = GROUPS "x" SIZE                     2x8: two groups of eight, labelled 0 to 15; 1x8 is one list
//!            | "[" LABEL "," … "]"                 [a,b,"c d"]
//!            | "[[" LABEL "," … "],[" … "]]"       [[0,1],[2,3]]: groups of labels; a single one is a list
//!            | "range(" FIRST "-" LAST ")"         range(30-35): inclusive
//!            | "sum(" AMOUNT ")"                   sum(100.5): an amount without identity, never for cpus
//!            | NUMBER                              cpus only: labelled from 0
//! ENTRY      = NAME "=" QUANTITY                   what a task asks for
//! QUANTITY   = "all" | AMOUNT [POLICY]
//! POLICY     = "compact" | "compact!" | "tight" | "tight!" | "scatter"
//! COUPLING   = ITEM "," …                          which groups lie close to each other
//! ITEM       = NAME "[" GROUP "]:" NAME "[" GROUP "]" ["=" WEIGHT]
//! NAME       = a letter, then letters, digits and "/"
//! AMOUNT     = digits, "_" between them, perhaps "." and one to four digits
//! LABEL      = anything but `"` in quotes, or text without blanks, commas, brackets and quotes
//! ```
//!
//! Blanks are allowed around each token. Every error is a [`ResourceParseError`]: it has the text, the byte where it goes
//! wrong, always within the text or at its end, and what is expected there.

mod coupling;
mod definition;
mod reader;
mod request;

pub use reader::ResourceParseError;
