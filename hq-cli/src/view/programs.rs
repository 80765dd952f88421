use std::{borrow::Cow, cell::OnceCell};

use hq_core::{JobDetail, ProgramSpec, TaskNumber};

use super::{Body, body, placement::place};

/// Programs of the tasks of (a piece of) a job. What the tasks of a submit share is decoded once: it can be large.
pub(crate) struct Programs<'a> {
    detail: &'a JobDetail,
    /// By submit.
    bodies: Vec<OnceCell<Body>>,
}

impl<'a> Programs<'a> {
    /// Nothing is decoded yet.
    pub(crate) fn new(detail: &'a JobDetail) -> Self {
        Self { detail, bodies: detail.submits.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The job.
    pub(crate) const fn detail(&self) -> &'a JobDetail {
        self.detail
    }

    /// The program of a task, as far as it came along.
    pub(crate) fn of(&self, task: TaskNumber) -> Option<Cow<'_, ProgramSpec>> {
        let (i, index) = place(self.detail, task)?;
        let submit = &self.detail.submits.get(i)?.submit;
        match self.bodies.get(i)?.get_or_init(|| body(submit)) {
            Body::Array(spec) => Some(Cow::Borrowed(spec)),
            other => other.program(submit, index).map(Cow::Owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn what_tasks_share_is_decoded_once() {
        let detail = samples::running_array();
        let programs = Programs::new(&detail);
        assert!(programs.bodies[0].get().is_none());
        let (first, second) =
            (programs.of(TaskNumber(10)).expect("a program"), programs.of(TaskNumber(19)).expect("too"));
        let (Cow::Borrowed(first), Cow::Borrowed(second)) = (first, second) else { panic!("they are copies") };
        assert!(std::ptr::eq(first, second));
        assert!(programs.of(TaskNumber(99)).is_none());
    }

    #[test]
    fn tasks_of_a_graph_have_their_own() {
        let detail = samples::graph_job();
        let programs = Programs::new(&detail);
        let args: Vec<_> = [0, 1].map(|task| programs.of(TaskNumber(task)).expect("a program").args.clone()).into();
        assert_ne!(args[0], args[1]);
    }
}
