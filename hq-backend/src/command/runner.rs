use std::{fmt, sync::Arc};

use async_trait::async_trait;

use super::{failure::CommandError, line::CommandLine, line::CommandOutput};

/// Who runs the commands of a manager: processes of this machine, or a script of a test.
#[async_trait]
pub trait CommandRunner: fmt::Debug + Send + Sync {
    /// Runs a command to its end. A code other than 0 is no error.
    ///
    /// # Errors
    /// It was not started, or did not end in time.
    ///
    /// # Cancel safety
    /// Dropped, the command is ended; what it has done is done.
    async fn run(&self, command: &CommandLine) -> Result<CommandOutput, CommandError>;
}

#[async_trait]
impl<T: CommandRunner + ?Sized> CommandRunner for Arc<T> {
    async fn run(&self, command: &CommandLine) -> Result<CommandOutput, CommandError> {
        (**self).run(command).await
    }
}

#[async_trait]
impl<T: CommandRunner + ?Sized> CommandRunner for Box<T> {
    async fn run(&self, command: &CommandLine) -> Result<CommandOutput, CommandError> {
        (**self).run(command).await
    }
}
