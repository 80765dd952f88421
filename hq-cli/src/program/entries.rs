use hq_core::{ArgPiece, Blob, Gap, Parts, ProgramBody, ProgramSpec, ProgramTemplate};

/// A part without a byte says that there is no entry; where one is empty, all are values of a gap.
///
/// # Errors
/// When it is too much for one submit.
pub(crate) fn with_empty_ones(parts: Parts) -> Result<(Parts, Vec<Gap>), &'static str> {
    const TOO_LARGE: &str = "the entries are too large for one submit";
    if (0..parts.len()).all(|i| !parts.get(i).is_empty()) {
        return Ok((parts, vec![]));
    }
    let value = |i| postcard::to_stdvec(&[Blob::from(parts.get(i))].to_vec());
    let values = (0..parts.len()).map(value).collect::<Result<Vec<_>, _>>().map_err(|_| TOO_LARGE)?;
    let parts = Parts::new(values).ok_or(TOO_LARGE)?;
    Ok((parts, vec![Gap { name: String::new(), env: "HQ_ENTRY".to_owned() }]))
}

/// The program with its gaps, if it has any.
pub(crate) fn with_gaps(mut program: ProgramSpec, gaps: Vec<Gap>) -> ProgramBody {
    if gaps.is_empty() {
        return ProgramBody::Same(program);
    }
    let args: Vec<Vec<ArgPiece>> = program.args.iter().map(|arg| ProgramTemplate::pieces(&gaps, arg)).collect();
    program.args = vec![];
    ProgramBody::Template(Box::new(ProgramTemplate { spec: program, args, gaps }))
}
