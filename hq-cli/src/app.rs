use std::process::ExitCode;

use tokio::runtime;

use crate::{
    advice::advice,
    args,
    commands::{Command, NotAllFinished},
    context::Context,
    log,
    output::{self, Mode, StdoutClosed, WithLines},
};

/// Exit code of a program that SIGPIPE ended, as shells show it.
const CLOSED_PIPE: u8 = 141;

/// Runs the program `hq` with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let (global, command) = match args::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => {
            // There is nobody left to tell when this cannot be written.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    log::init(global.debug);
    let mut context = Context::new(global);
    let result = run(command, &mut context).and_then(|()| context.out.finish());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<StdoutClosed>() => ExitCode::from(CLOSED_PIPE),
        Err(error) if error.is::<NotAllFinished>() => {
            let code = error.downcast_ref::<NotAllFinished>().map_or(1, |ended| ended.0);
            context.out.finish().map_or(ExitCode::FAILURE, |()| ExitCode::from(code))
        }
        Err(error) => {
            let mut text = output::inert(&format!("{error:#}")).into_owned();
            if let Some(WithLines { lines, .. }) = error.downcast_ref() {
                lines.iter().for_each(|line| text += &format!("\n{}", output::inert(line)));
            }
            if let Some(advice) = advice(&error, &context.global.server_dir) {
                text += &format!("\nHint: {}", output::inert(&advice));
            }
            match context.out.mode() {
                // Nothing can be done where standard output is closed too.
                Mode::Json => drop(context.out.json_error(&text)),
                Mode::Cli | Mode::Quiet => log::error_line(&text),
            }
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, context: &mut Context) -> anyhow::Result<()> {
    let mut builder =
        if command.is_daemon() { runtime::Builder::new_multi_thread() } else { runtime::Builder::new_current_thread() };
    let runtime = builder.enable_all().build()?;
    let result = runtime.block_on(async {
        let result = command.run(context).await;
        context.close().await;
        result
    });
    // A thread that still blocks in a system call must not keep the process.
    runtime.shutdown_background();
    result
}
