use hq_core::{Amount, Policy, Profile, Quantity, Request};
use serde_json::{Value, json};

/// What tasks need, as lines: each resource, then the weight if it is not 1. Several variants have a title each.
pub(crate) fn request_lines(profile: &Profile) -> Vec<String> {
    let variants = &profile.variants;
    if variants.count() == 1 {
        return variants.iter().flat_map(variant_lines).collect();
    }
    let mut lines = Vec::new();
    for (i, request) in variants.iter().enumerate() {
        if i > 0 {
            lines.push(String::new());
        }
        lines.push(format!("# Variant {}", i + 1));
        lines.extend(variant_lines(request));
    }
    lines
}

fn variant_lines(request: &Request) -> Vec<String> {
    if request.nodes() > 0 {
        return vec![format!("nodes: {}", request.nodes())];
    }
    let mut lines: Vec<String> =
        request.entries().iter().map(|entry| format!("{}: {}", entry.resource, entry.quantity)).collect();
    if u64::from(request.weight()) != Amount::PARTS {
        lines.push(format!("[weight: {}]", Amount::from_parts(request.weight().into())));
    }
    lines
}

/// The same as JSON: one object per variant.
pub(super) fn requests_json(profile: &Profile) -> Value {
    let variant = |request: &Request| {
        let entries: Vec<Value> = request
            .entries()
            .iter()
            .map(|entry| json!({ "resource": entry.resource, "request": quantity_json(entry.quantity) }))
            .collect();
        json!({
            "n_nodes": request.nodes(),
            "resources": entries,
            "min_time": request.min_time().as_secs_f64(),
            "weight": request.weight(),
        })
    };
    profile.variants.iter().map(variant).collect()
}

/// How much, by policy, in 1/10,000.
pub(super) fn quantity_json(quantity: Quantity) -> Value {
    match quantity {
        Quantity::All => json!("All"),
        Quantity::Amount(amount, policy) => {
            let policy = match policy {
                Policy::Compact => "Compact",
                Policy::ForceCompact => "ForceCompact",
                Policy::Tight => "Tight",
                Policy::ForceTight => "ForceTight",
                Policy::Scatter => "Scatter",
            };
            json!({ policy: amount.parts() })
        }
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{ResourceEntry, Variants};

    use super::*;

    fn request(entries: &[&str]) -> Request {
        Request::new(entries.iter().map(|e| ResourceEntry::parse(e).expect("entry")).collect()).expect("request")
    }

    #[test]
    fn lines() {
        let one = Profile::new(request(&["foo=1", "cpus=2"]).with_weight(25_000).expect("weight"));
        assert_eq!(request_lines(&one), ["cpus: 2 compact", "foo: 1 compact", "[weight: 2.5]"]);
        let gang = Profile::new(Request::gang(3).with_weight(25_000).expect("weight"));
        assert_eq!(request_lines(&gang), ["nodes: 3"]);
        let variants = [request(&["cpus=2", "x=1"]).with_weight(5_000).expect("weight"), request(&["cpus=1.5"])];
        let two = Profile::new(Variants::new(variants.into()).expect("variants"));
        let expected =
            ["# Variant 1", "cpus: 2 compact", "x: 1 compact", "[weight: 0.5]", "", "# Variant 2", "cpus: 1.5 compact"];
        assert_eq!(request_lines(&two), expected);
    }

    #[test]
    fn json_forms() {
        for (entry, expected) in [
            ("a=2", json!({"Compact": 20_000})),
            ("a=2 compact!", json!({"ForceCompact": 20_000})),
            ("a=0.5 tight", json!({"Tight": 5_000})),
            ("a=1 tight!", json!({"ForceTight": 10_000})),
            ("a=1 scatter", json!({"Scatter": 10_000})),
            ("a=all", json!("All")),
        ] {
            let expected = json!([{
                "n_nodes": 0,
                "resources": [{"resource": "a", "request": expected}],
                "min_time": 0.0,
                "weight": 10_000,
            }]);
            assert_eq!(requests_json(&Profile::new(request(&[entry]))), expected);
        }
    }
}
