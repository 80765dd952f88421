use clap_complete::aot::{Shell, generate};
use tracing::info;

use crate::{args, context::Context};

/// Options of `generate-completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq generate-completion bash > ~/.local/share/bash-completion/completions/hq
  hq generate-completion zsh > ~/.zfunc/_hq
  hq generate-completion fish > ~/.config/fish/completions/hq.fish")]
pub(crate) struct Args {
    /// For which shell
    shell: Shell,
}

/// Prints what a shell needs to complete the program's words.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut args::command(), "hq", &mut script);
    context.out.raw(&script)?;
    context.out.flush()?;
    info!("Put this where {} looks for completions; see `hq generate-completion --help`", args.shell);
    Ok(())
}
