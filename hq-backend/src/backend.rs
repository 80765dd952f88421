use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{AllocationId, AllocationRequest, AllocationStatus, BackendError, Capability};

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
    /// After an error that [is not temporary](BackendError::is_temporary) there is no such allocation. After a
    /// temporary one there may be: [`find`](Self::find) tells.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it may have been done or not, as after a temporary error.
    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError>;

    /// Where these are in their lives, in the order of `ids`. One that is not known has
    /// [ended](AllocationStatus::Ended).
    ///
    /// # Errors
    /// Then nothing is known of any.
    async fn status(&self, ids: &[AllocationId]) -> Result<Vec<AllocationStatus>, BackendError>;

    /// Ends an allocation and all that runs in it. One that has ended or is not known is no error.
    ///
    /// # Errors
    /// Then it may still be there.
    async fn cancel(&self, id: &AllocationId) -> Result<(), BackendError>;

    /// The allocation that was asked for under `key`, queued, running or not long ended.
    ///
    /// # Errors
    /// Then nothing is known.
    async fn find(&self, key: &str) -> Result<Option<AllocationId>, BackendError>;
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

            async fn status(&self, ids: &[AllocationId]) -> Result<Vec<AllocationStatus>, BackendError> {
                (**self).status(ids).await
            }

            async fn cancel(&self, id: &AllocationId) -> Result<(), BackendError> {
                (**self).cancel(id).await
            }

            async fn find(&self, key: &str) -> Result<Option<AllocationId>, BackendError> {
                (**self).find(key).await
            }
        }
    };
}

forward!(Box);
forward!(Arc);
