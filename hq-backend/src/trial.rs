use crate::{Allocation, AllocationId, AllocationRequest, AllocatorBackend, BackendError};

/// Why a trial went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// It was not taken, or it was and is not there any more: nothing is left behind.
    #[error("Could not submit allocation: {}", details(.0))]
    Submit(#[source] BackendError),
    /// Whether it was taken is not known.
    #[error("Could not submit allocation: {}\nIt may have been taken all the same: look for a job with the key {key}", details(.error))]
    Doubt {
        /// The engine's name for it.
        key: String,
        /// What the submission came to.
        #[source]
        error: BackendError,
    },
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
    let error = match backend.submit(&request).await {
        Ok(id) => return end(backend, &request, id).await,
        Err(error) if error.is_in_doubt => error,
        Err(error) => return Err(TrialError::Submit(error)),
    };
    match backend.find(&request).await {
        Ok(Some(id)) => end(backend, &request, id).await.and(Err(TrialError::Submit(error))),
        // It may show late.
        Ok(None) | Err(_) => Err(TrialError::Doubt { key: request.key, error }),
    }
}

async fn end(
    backend: &dyn AllocatorBackend,
    request: &AllocationRequest,
    id: AllocationId,
) -> Result<AllocationId, TrialError> {
    match backend.cancel(&Allocation::of(request, id.clone())).await {
        Ok(()) => Ok(id),
        Err(error) => Err(TrialError::Cancel { id, error }),
    }
}

/// All that the command said, for a user who has to mend it.
fn details(error: &BackendError) -> String {
    error.command().map_or_else(|| error.message.clone(), ToString::to_string)
}
