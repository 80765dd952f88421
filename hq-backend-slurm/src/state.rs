use hq_backend::EndCause;

/// What a word for the state of a job means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlurmState {
    /// It has not begun.
    Waiting,
    /// It has its nodes.
    Alive,
    /// It is over.
    Ended(EndCause),
    /// It is over, and may come back under the same id if it may be queued again.
    MayReturn(EndCause),
    /// A word that nobody here knows: it lives.
    Other,
}

/// The meaning of a word, long or short, in any case, also as `CANCELLED by 1000` or `CANCELLED+`.
pub fn slurm_state(text: &str) -> SlurmState {
    let word: String = text.trim().chars().take_while(|c| c.is_ascii_alphabetic() || *c == '_').collect();
    match word.to_ascii_uppercase().as_str() {
        "PENDING" | "PD" | "CONFIGURING" | "CF" | "REQUEUED" | "RQ" | "REQUEUE_HOLD" | "RH" | "REQUEUE_FED" | "RF"
        | "RESV_DEL_HOLD" | "RD" | "SPECIAL_EXIT" | "SE" => SlurmState::Waiting,
        "RUNNING" | "R" | "SUSPENDED" | "S" | "STOPPED" | "ST" | "RESIZING" | "RS" | "SIGNALING" | "SI"
        | "STAGE_OUT" | "SO" | "COMPLETING" | "CG" => SlurmState::Alive,
        "COMPLETED" | "CD" => SlurmState::Ended(EndCause::Finished),
        "TIMEOUT" | "TO" => SlurmState::Ended(EndCause::TimeLimit),
        "FAILED" | "F" | "OUT_OF_MEMORY" | "OOM" => SlurmState::Ended(EndCause::Failed),
        "CANCELLED" | "CA" | "DEADLINE" | "DL" | "REVOKED" | "RV" => SlurmState::Ended(EndCause::Canceled),
        "NODE_FAIL" | "NF" | "PREEMPTED" | "PR" | "BOOT_FAIL" | "BF" => SlurmState::MayReturn(EndCause::Lost),
        _ => SlurmState::Other,
    }
}
