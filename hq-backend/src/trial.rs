use crate::{Allocation, AllocationId, AllocationRequest, AllocatorBackend, BackendError};

/// Why a trial went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// It was not taken; nothing is left behind.
    #[error("Could not submit allocation: {}", details(.0))]
    Submit(#[source] BackendError),
    /// It was taken and is still there.
    #[error("Could not cancel allocation {id}: {}", details(.error))]
    Cancel {
        /// The allocation.
        id: AllocationId,
        /// Why not.
        #[source]
        error: BackendError,
    },
}

/// Submits an allocation and cancels it at once.
///
/// # Errors
/// Which of both did not work.
///
/// # Cancel safety
/// Not cancel safe: dropped, the allocation may be there.
pub async fn trial(backend: &dyn AllocatorBackend, mut request: AllocationRequest) -> Result<AllocationId, TrialError> {
    if let Some(batch) = &mut request.batch {
        batch.is_trial = true;
    }
    let id = backend.submit(&request).await.map_err(TrialError::Submit)?;
    match backend.cancel(&Allocation::of(&request, id.clone())).await {
        Ok(()) => Ok(id),
        Err(error) => Err(TrialError::Cancel { id, error }),
    }
}

/// All that the command said, for a user who has to mend it.
fn details(error: &BackendError) -> String {
    error.command().map_or_else(|| error.message.clone(), ToString::to_string)
}
