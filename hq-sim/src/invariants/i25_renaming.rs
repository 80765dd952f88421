use super::case::{Case, Decider, Manner};

/// I25: ids mean nothing but their order: where other workers and tasks came and went before, the same ones get the same places.
/// Equal workers may stand for each other in any case, as nothing tells them apart.
///
/// # Errors
/// Where the places differ.
pub fn renaming(case: &Case, by: &Decider) -> Result<(), String> {
    let (_, plain) = case.decide(by, Manner::default())?;
    for before in [1, 7] {
        let (_, renamed) = case.decide(by, Manner { before, ..Manner::default() })?;
        if plain != renamed {
            return Err(format!("I25 renaming: {plain:?} and, after {before} others, {renamed:?}"));
        }
    }
    Ok(())
}
