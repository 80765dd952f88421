use hq_core::JobDetail;

use crate::view::without_secrets;

/// Whether values of secret variables are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ShowSecrets {
    /// Show values of variables whose names say that they are secret: TOKEN, SECRET, KEY or PASS is in them
    #[arg(long)]
    show_secrets: bool,
}

impl ShowSecrets {
    /// A job as it may be shown.
    pub(crate) fn shown(self, detail: JobDetail) -> JobDetail {
        if self.show_secrets { detail } else { without_secrets(detail) }
    }
}
