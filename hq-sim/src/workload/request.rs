use hq_core::{Policy, Quantity, Request, Variants};

/// What a task asks for, in short: `cpus=2 gpus=0.5`, `3 nodes`, alternatives with `or` between them.
pub fn request_text(variants: &Variants) -> String {
    variants.iter().map(variant_text).collect::<Vec<_>>().join(" or ")
}

fn variant_text(request: &Request) -> String {
    match request.nodes() {
        0 => {}
        1 => return "1 node".to_owned(),
        nodes => return format!("{nodes} nodes"),
    }
    let entries = request.entries().iter().map(|entry| match entry.quantity {
        Quantity::Amount(amount, Policy::Compact) => format!("{}={amount}", entry.resource),
        quantity => format!("{}={quantity}", entry.resource),
    });
    entries.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_short() {
        let read = |entries: &[&str]| Request::parse(entries.iter().copied()).unwrap();
        for (variants, expected) in [
            (vec![read(&["cpus=2", "gpus=0.5"])], "cpus=2 gpus=0.5"),
            (vec![read(&["cpus=2 scatter"]), read(&["cpus=all"])], "cpus=2 scatter or cpus=all"),
            (vec![Request::gang(1)], "1 node"),
            (vec![Request::gang(3)], "3 nodes"),
        ] {
            assert_eq!(request_text(&Variants::new(variants).unwrap()), expected);
        }
    }
}
