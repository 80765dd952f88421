//! The program `hq`; everything is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    hq_cli::main()
}
