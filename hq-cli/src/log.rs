//! Log lines on standard error.

use std::{
    fmt::{self, Write as _},
    io::{self, Write as _},
};

use jiff::Timestamp;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    subscriber::set_global_default,
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use crate::output::inert;

/// Starts logging. `RUST_LOG` adds to and overrides the default level, which is `info`, or `debug` with `debug`.
pub(crate) fn init(debug: bool) {
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let lines = Lines { long: debug || rust_log.contains("debug") };
    // Where nobody reads standard error any more there is nobody to tell that either; the default is to panic.
    let builder = tracing_subscriber::fmt().with_writer(io::stderr).log_internal_errors(false).event_format(lines);
    let level = if debug { LevelFilter::DEBUG } else { LevelFilter::INFO };
    // Fails only where a logger is set already, which then stays. The filter by target costs a client too much to be
    // made for nothing.
    let _ = if rust_log.is_empty() {
        set_global_default(builder.with_max_level(level).finish())
    } else {
        let filter = EnvFilter::builder().parse_lossy(format!("{level},{rust_log}"));
        set_global_default(builder.with_env_filter(filter).finish())
    };
}

/// Tells an error that ends the program.
pub(crate) fn error_line(text: &str) {
    // Nothing can be done where standard error is closed.
    let _ = writeln!(io::stderr(), "Error: {text}");
}

/// The two forms of a log line.
struct Lines {
    /// With milliseconds and module, in brackets.
    long: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut message = Message::default();
        event.record(&mut message);
        let meta = event.metadata();
        let module = meta.module_path().unwrap_or_else(|| meta.target());
        writeln!(writer, "{}", line(self.long, Timestamp::now(), meta.level(), module, &message.text()))
    }
}

/// One line without its end. A `|` would look like a piece of a table to readers of both streams.
fn line(long: bool, now: Timestamp, level: &tracing::Level, module: &str, message: &str) -> String {
    let message = inert(message).replace('|', "¦");
    if long {
        format!("[{} {level:<5} {module}] {message}", now.strftime("%FT%T.%3fZ"))
    } else {
        format!("{} {level} {message}", now.strftime("%FT%TZ"))
    }
}

/// Collects the message and the fields of an event.
#[derive(Default)]
struct Message {
    message: String,
    fields: String,
}

impl Message {
    fn text(self) -> String {
        self.message + &self.fields
    }
}

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn lines_have_the_two_forms() {
        let now = Timestamp::from_millisecond(1_769_844_765_042).expect("in range");
        assert_eq!(
            line(false, now, &Level::WARN, "m", "Task 4 not found"),
            "2026-01-31T07:32:45Z WARN Task 4 not found"
        );
        assert_eq!(
            line(true, now, &Level::INFO, "hq::x", "a | b\x1b[31m\nc"),
            "[2026-01-31T07:32:45.042Z INFO  hq::x] a ¦ b\\u{1b}[31m\\nc"
        );
    }
}
