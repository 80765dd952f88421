//! Values of keys.

use hq_core::{
    Amount, Blob, CrashLimit, OnClose, Policy, Quantity, Request, ResourceEntry, ResourceName, RetryRule, Span, Stdio,
    Variants,
};
use toml::{Spanned, Value};

use super::{error::Bad, raw};
use crate::{args::Channel, parse};

/// A length of time.
pub(super) fn span(text: &Spanned<String>) -> Result<Span, Bad> {
    Span::parse(text.get_ref()).map_err(|error| Bad::new(text.span(), error.to_string()))
}

/// What a task needs: one cpu where nothing is said.
pub(super) fn variants(requests: &[Spanned<raw::Request>]) -> Result<Variants, Bad> {
    let Some(first) = requests.first() else {
        return Request::cpus(1).map(Variants::from).map_err(|error| Bad::new(0..0, error.to_string()));
    };
    let all = requests.iter().map(request).collect::<Result<Vec<_>, _>>()?;
    Variants::new(all).map_err(|error| Bad::new(first.span(), error.to_string()))
}

fn request(given: &Spanned<raw::Request>) -> Result<Request, Bad> {
    let bad = |error: hq_core::RequestError| Bad::new(given.span(), error.to_string());
    let raw = given.get_ref();
    let request = if raw.n_nodes > 0 {
        if let Some(name) = raw.resources.keys().next() {
            return Err(Bad::new(
                name.span(),
                "tasks on whole nodes use all of their resources: name none with `n_nodes`",
            ));
        }
        Request::gang(raw.n_nodes)
    } else {
        let entries = raw.resources.iter().map(|(name, value)| entry(name, value)).collect::<Result<_, _>>()?;
        Request::new(entries).map_err(bad)?
    };
    let request = match &raw.time_request {
        Some(time) => request.with_min_time(span(time)?),
        None => request,
    };
    match &raw.weight {
        Some(weight) => {
            let bad = |reason: String| Bad::new(weight.span(), reason);
            let number = number(weight.get_ref()).ok_or_else(|| bad("a weight is a number".to_owned()))?;
            let weight = Request::weight_of(number).map_err(|error| bad(error.to_string()))?;
            request.with_weight(weight).map_err(|error| bad(error.to_string()))
        }
        None => Ok(request),
    }
}

fn entry(name: &Spanned<String>, value: &Spanned<Value>) -> Result<ResourceEntry, Bad> {
    let resource = ResourceName::new(name.get_ref()).map_err(|error| Bad::new(name.span(), error.to_string()))?;
    let bad = |reason: String| Bad::new(value.span(), reason);
    let quantity = match value.get_ref() {
        Value::String(text) => {
            let whole = ResourceEntry::parse(&format!("{resource}={text}"));
            let at = |at: usize| at.saturating_sub(resource.as_str().len() + 1);
            whole.map_err(|error| Bad::inside(value.span(), at(error.at), error.reason))?.quantity
        }
        other => {
            let number =
                number(other).ok_or_else(|| bad("expected a number or a text such as \"2 compact\"".to_owned()))?;
            let amount = Amount::from_f64(number).map_err(|error| bad(error.to_string()))?;
            Quantity::Amount(amount, Policy::default())
        }
    };
    let is_zero = matches!(quantity, Quantity::Amount(amount, _) if amount == Amount::ZERO);
    if is_zero {
        Err(bad("Zero resources cannot be requested".to_owned()))
    } else {
        Ok(ResourceEntry { resource, quantity })
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        // Past 2^53 an amount is too large anyway.
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// How often a task may lose its worker.
pub(super) fn crash_limit(value: &Spanned<Value>) -> Result<CrashLimit, Bad> {
    let text = match value.get_ref() {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        _ => String::new(),
    };
    parse::crash_limit(&text).map_err(|reason| Bad::new(value.span(), reason))
}

/// When a task is run again.
pub(super) fn retry(rules: &Spanned<raw::Rules>) -> Result<Vec<RetryRule>, Bad> {
    let rule = |text: &str, span| RetryRule::parse(text).map_err(|error| Bad::inside(span, error.at, error.reason));
    match rules.get_ref() {
        raw::Rules::One(text) => Ok(vec![rule(text, rules.span())?]),
        raw::Rules::Several(list) => list.iter().map(|text| rule(text.get_ref(), text.span())).collect(),
    }
}

/// Where an output goes; into `stream`, if there is one, where nothing is said.
pub(super) fn output(
    value: Option<&Spanned<raw::Output>>,
    stream: Option<&Blob>,
    channel: Channel,
) -> Result<Stdio, Bad> {
    let file = |path: String, on_close| Stdio::File { path: path.into_bytes().into(), on_close };
    let usual = || channel.usual_path();
    let Some(value) = value else {
        return Ok(stream.map_or_else(|| file(usual(), OnClose::Keep), |dir| Stdio::Stream { dir: dir.clone() }));
    };
    let table = match value.get_ref() {
        raw::Output::Text(text) if text == "none" => return Ok(Stdio::Null),
        raw::Output::Text(text) if text.is_empty() => {
            return Err(Bad::new(value.span(), "the path is empty; to have no file, write \"none\""));
        }
        raw::Output::Text(text) => return Ok(file(text.clone(), OnClose::Keep)),
        raw::Output::Table(table) => table,
    };
    let (mut path, mut on_close) = (None, OnClose::Keep);
    for (key, value) in table {
        let bad = |reason: &str| Err(Bad::new(value.span(), reason));
        match (key.get_ref().as_str(), value.get_ref().as_str()) {
            ("path", Some(text)) if !text.is_empty() => path = Some(text.to_owned()),
            ("on_close" | "mode", Some("none")) => on_close = OnClose::Keep,
            ("on_close" | "mode", Some("rm-if-finished")) => on_close = OnClose::RemoveIfFinished,
            ("path", _) => return bad("`path` is a text that is not empty"),
            ("on_close" | "mode", _) => return bad("`on_close` is \"none\" or \"rm-if-finished\""),
            (other, _) => {
                return Err(Bad::new(key.span(), format!("unknown field `{other}`, expected `path` or `on_close`")));
            }
        }
    }
    Ok(file(path.unwrap_or_else(usual), on_close))
}
