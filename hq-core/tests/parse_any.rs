//! Any text: no reader panics, and an error lies within its text, where a character begins or at the end.

use hq_core::{
    Amount, CouplingItem, IdList, IdListError, Quantity, Request, ResourceDef, ResourceEntry, ResourceName,
    ResourceParseError, RetryRule, Span, WorkerResources, placeholder::Placeholders,
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::RngSeed};

/// Pieces of all syntaxes, joined by chance: nearly right texts.
const PIECES: [&str; 44] = [
    "cpus",
    "gpus/nvidia",
    "x",
    "=",
    "==",
    "[",
    "]",
    "[[",
    "]]",
    ",",
    ":",
    "-",
    "(",
    ")",
    "range",
    "sum",
    "all",
    "compact",
    "compact!",
    "tight",
    "scatter",
    "!",
    "\"",
    "a b",
    "0",
    "1",
    "2x3",
    "10",
    "0.5",
    "1.00001",
    "4294967295",
    "4294967296",
    "99999999999999999999",
    "_",
    ".",
    " ",
    "\t",
    "é",
    "٣",
    "\u{3000}",
    "%{",
    "}",
    "\n",
    "1h",
];

/// Pieces of rules.
const RULES: [&str; 20] = [
    "exit",
    "oom",
    "any",
    "crash",
    "start",
    "=",
    ":",
    "..",
    "-",
    ",",
    "1",
    "75",
    "256",
    "0",
    "unlimited",
    "10s",
    "5m",
    "1h",
    " ",
    "é",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![".*", vec(select(PIECES.to_vec()), 0..12).prop_map(|pieces| pieces.concat())]
}

fn check(text: &str, outcome: Result<(), ResourceParseError>) {
    if let Err(error) = outcome {
        assert_eq!(error.text, text);
        assert!(text.is_char_boundary(error.at), "{error}");
        assert!(!error.reason.is_empty() && !error.reason.contains('\n') || text.contains('\n'), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 5 } else { 4000 }, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resources(text in texts()) {
        let known = ["cpus=2x3", "gpus/nvidia=[[0],[1]]", "x=3x1"].map(|def| ResourceDef::parse(def).unwrap());
        check(&text, ResourceDef::parse(&text).map(|def| drop(WorkerResources::new(vec![def], vec![]))));
        check(&text, ResourceDef::parse_cpus(&text).map(|def| drop(WorkerResources::new(vec![def], vec![]))));
        check(&text, ResourceEntry::parse(&text).map(drop));
        check(&text, Quantity::parse(&text).map(drop));
        check(&text, CouplingItem::parse_list(&text, &known).map(|items| {
            assert_eq!(WorkerResources::new(known.to_vec(), items.clone()).unwrap().coupling(), items);
        }));
        let texts = ["cpus=1", &text];
        if let Err(error) = Request::parse(texts) {
            prop_assert!(error.text == text || error.text == texts.join(", "));
            prop_assert!(error.text.is_char_boundary(error.at));
        }
        drop(ResourceName::new(&text));
    }

    #[test]
    fn rules_of_retry(parts in vec(select(RULES.to_vec()), 0..9), text in texts()) {
        for text in [parts.concat(), text] {
            match RetryRule::parse(&text) {
                Ok(rule) => prop_assert_eq!(RetryRule::parse(&rule.to_string()), Ok(rule)),
                Err(error) => prop_assert!(text.is_char_boundary(error.at), "{} in {:?}", error.at, text),
            }
        }
    }

    #[test]
    fn amounts_and_others(text in texts()) {
        match text.parse::<Amount>() {
            Ok(amount) => prop_assert_eq!(amount.to_string().parse(), Ok(amount)),
            Err(error) => prop_assert!(text.is_char_boundary(error.at())),
        }
        if let Err(IdListError::Syntax { at } | IdListError::TooLarge { at } | IdListError::Invalid { at, .. } | IdListError::Step { at, .. }) =
            IdList::parse(&text)
        {
            prop_assert!(text.is_char_boundary(at), "{} in {:?}", at, text);
        }
        if let Ok(span) = Span::parse(&text) {
            prop_assert_eq!(Span::parse_human_only(&span.to_string()), Ok(span));
        }
        drop(Span::parse_human_only(&text));
        prop_assert_eq!(Placeholders::default().fill(text.as_bytes()), text.as_bytes());
    }

    #[test]
    fn what_is_shown_is_read_again(parts in 0..=Amount::MAX.parts(), number in any::<f64>()) {
        let amount = Amount::from_parts(parts);
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        prop_assert_eq!(Amount::from_f64(amount.to_string().parse().unwrap()), Ok(amount));
        prop_assert!(Amount::from_f64(number).is_ok_and(|amount| amount <= Amount::MAX) || !(0.0..4_294_967_295.9).contains(&number));
    }
}

#[test]
fn every_fraction_of_four_decimals_is_exact() {
    for parts in (0..10_000).step_by(if cfg!(miri) { 977 } else { 1 }) {
        for units in [0, 1, 77, 65_535, u32::MAX] {
            let amount = Amount::from_parts(Amount::units(units).parts() + parts);
            assert_eq!(Amount::from_f64(amount.to_string().parse().unwrap()), Ok(amount));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "that a long list takes no time is what it shows")]
fn a_list_of_a_hundred_thousand_labels_is_read_at_once() {
    let labels: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let text = format!("x=[{}]", labels.join(","));
    assert_eq!(ResourceDef::parse(&text).unwrap().kind, hq_core::ResourceKind::List(labels));
}
