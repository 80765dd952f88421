use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, BackendError, BackendErrorKind, Capability,
};

/// Where machines come from.
///
/// All methods may be called at the same time. An error of one says nothing about the others.
#[async_trait]
pub trait AllocatorBackend: fmt::Debug + Send + Sync {
    /// Its name, e.g. `local`; does not change.
    fn name(&self) -> &str;

    /// What it can do; does not change.
    fn capability(&self) -> Capability;

    /// Asks for one allocation.
    ///
    /// # Errors
    /// There is no such allocation, except where the error is [in doubt](BackendError::is_in_doubt): then
    /// [`find`](Self::find) tells.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it may have been done or not.
    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError>;

    /// Where these are in their lives, in the order of the questions. One that is not known has
    /// [ended](AllocationStatus::Ended).
    ///
    /// # Errors
    /// An answer of its own for each: nothing is known of that one now.
    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>>;

    /// Ends an allocation and all that runs in it. One that has ended or is not known is no error.
    ///
    /// # Errors
    /// Then it may still be there.
    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError>;

    /// What an earlier call with this request got, queued, running or not long ended.
    ///
    /// # Errors
    /// Then nothing is known.
    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError>;

    /// Asks whether such a request would be taken, without a trace, and what the manager says to that in one line, if
    /// it says anything.
    ///
    /// # Errors
    /// Why it would not be taken. [`Unsupported`](BackendErrorKind::Unsupported) where the manager cannot be asked.
    async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
        let _ = request;
        let message = "nothing but a submission tells whether a request is taken";
        Err(BackendError::new(BackendErrorKind::Unsupported, self.name(), "validate", message))
    }
}

macro_rules! forward {
    ($pointer:ident) => {
        #[async_trait]
        impl<T: AllocatorBackend + ?Sized> AllocatorBackend for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn capability(&self) -> Capability {
                (**self).capability()
            }

            async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
                (**self).submit(request).await
            }

            async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
                (**self).status(allocations).await
            }

            async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
                (**self).cancel(allocation).await
            }

            async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
                (**self).find(request).await
            }

            async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
                (**self).validate(request).await
            }
        }
    };
}

forward!(Box);
forward!(Arc);
