/// Checks the form of couplings, `RES1[G1]:RES2[G2]` or `RES1[G1]:RES2[G2]=WEIGHT`, joined by commas. Whether there are
/// such resources is known only with these.
///
/// # Errors
/// For any other form.
pub(crate) fn coupling(text: &str) -> Result<String, String> {
    match text.split(',').find(|item| item_of(item).is_none()) {
        Some(item) => Err(format!(
            "`{}` is not of the form RES1[GROUP]:RES2[GROUP] or RES1[GROUP]:RES2[GROUP]=WEIGHT",
            item.trim()
        )),
        None => Ok(text.to_owned()),
    }
}

fn item_of(item: &str) -> Option<()> {
    let (first, rest) = item.split_once(':')?;
    let (second, weight) = rest.split_once('=').map_or((rest, None), |(second, weight)| (second, Some(weight)));
    weight.map_or(Some(()), number)?;
    end(first)?;
    end(second)
}

fn end(text: &str) -> Option<()> {
    let (name, group) = text.trim().strip_suffix(']')?.split_once('[')?;
    (!name.trim().is_empty()).then_some(())?;
    number(group)
}

fn number(text: &str) -> Option<()> {
    text.trim().replace('_', "").parse::<u16>().ok().map(drop)
}

#[cfg(test)]
mod tests {
    use super::coupling;

    #[test]
    fn forms() {
        for (text, ok) in [
            ("foo[2]:bar[3]", true),
            ("foo[2]:bar[3], baz[123] : bar[0]=1, foo[2]:bar[4] = 64", true),
            ("gpus/nvidia[0]:cpus[1]", true),
            ("", false),
            ("foo[2]", false),
            ("foo[2]:bar", false),
            ("foo[x]:bar[0]", false),
            ("foo[0]:bar[0]=", false),
            ("foo[0]:bar[0]=65536", false),
            ("foo[0]:bar[0],", false),
        ] {
            assert_eq!(coupling(text).is_ok(), ok, "{text}");
        }
    }
}
