use hq_core::{JobDep, Owner, Submit};

use crate::parse;

/// What a submit has to do with other jobs and with people.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Relations {
    /// Wait for other jobs: `afterok:ID,…` (all their tasks finished), `afterany:ID,…` (they have ended) or
    /// `afternotok:ID,…` (not all finished); several joined by commas
    ///
    /// Where a job comes to another end than is waited for, the tasks are aborted. Open jobs end when they are closed.
    #[arg(long, value_name = "WHEN", value_parser = parse::reader(parse::dependency))]
    pub(crate) dependency: Option<Deps>,
    /// Whose tasks they are, for orders that share by users [default: the user's name]
    #[arg(long, value_name = "USER", value_parser = parse::reader(parse::party))]
    pub(crate) owner: Option<String>,
    /// On whose account they run, for orders that share by projects
    #[arg(long, value_name = "NAME", value_parser = parse::reader(parse::party))]
    pub(crate) project: Option<String>,
}

/// Jobs to wait for. A list of its own: clap takes a `Vec` for an option that may be repeated.
type Deps = std::sync::Arc<[JobDep]>;

impl Relations {
    /// These, and from `lower` what is not given here.
    pub(crate) fn over(self, lower: Self) -> Self {
        Self {
            dependency: self.dependency.or(lower.dependency),
            owner: self.owner.or(lower.owner),
            project: self.project.or(lower.project),
        }
    }

    /// The submit with these relations.
    pub(crate) fn apply(&self, submit: Submit) -> Submit {
        let user = self.owner.clone().or_else(user_name).unwrap_or_default();
        let owner = Owner { user, project: self.project.clone().unwrap_or_default() };
        Submit { owner, after: self.dependency.as_deref().unwrap_or_default().to_vec(), ..submit }
    }
}

/// The name of who runs this program; none where it is not a name that could be given.
fn user_name() -> Option<String> {
    let name = ["USER", "LOGNAME"].into_iter().find_map(|variable| std::env::var(variable).ok());
    name.filter(|name| parse::party(name).is_ok())
}
