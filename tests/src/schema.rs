use serde_json::{Map, Value};

/// Why `value` is not what a JSON Schema says, with the place; nothing where it is. Only what our schemas use is
/// understood: any other keyword is a reason too.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Checker { root: schema, found: &mut found }.check(schema, value, "$");
    found
}

struct Checker<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        let Some(rules) = schema.as_object() else { return };
        for (keyword, rule) in rules {
            self.rule(rules, keyword, rule, value, at);
        }
    }

    fn rule(&mut self, rules: &Map<String, Value>, keyword: &str, rule: &Value, value: &Value, at: &str) {
        match keyword {
            "$ref" => {
                let name = rule.as_str().and_then(|text| text.strip_prefix("#/$defs/")).expect("a local reference");
                let target = self.root["$defs"].get(name).unwrap_or_else(|| panic!("no definition of {name}")).clone();
                self.check(&target, value, at);
            }
            "type" => {
                let is = |kind: &Value| is_of(kind.as_str().expect("a type"), value);
                let fits = rule.as_array().map_or_else(|| is(rule), |kinds| kinds.iter().any(is));
                self.expect(fits, at, &format!("is {value}, not of type {rule}"));
            }
            "const" => self.expect(rule == value, at, &format!("is {value}, not {rule}")),
            "enum" => {
                let fits = rule.as_array().is_some_and(|all| all.contains(value));
                self.expect(fits, at, &format!("is {value}, none of {rule}"));
            }
            "minimum" => {
                let fits = value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number"));
                self.expect(fits, at, &format!("is {value}, less than {rule}"));
            }
            "required" => {
                for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let fits = value.as_object().is_none_or(|map| map.contains_key(name));
                    self.expect(fits, at, &format!("has no {name}"));
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        self.check(schema, value, &format!("{at}.{name}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &str| rules.get("properties").is_some_and(|known| known.get(name).is_some());
                for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
                    let at = format!("{at}.{name}");
                    match rule {
                        Value::Bool(fits) => self.expect(*fits, &at, "is one key too many"),
                        schema => self.check(schema, value, &at),
                    }
                }
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, value, &format!("{at}[{i}]"));
                }
            }
            "anyOf" => {
                let fits = rule.as_array().is_some_and(|all| all.iter().any(|schema| self.fits(schema, value)));
                self.expect(fits, at, &format!("fits none of the alternatives: {value}"));
            }
            "allOf" => rule.as_array().into_iter().flatten().for_each(|schema| self.check(schema, value, at)),
            "if" => {
                if self.fits(rule, value) {
                    self.check(rules.get("then").expect("a consequence"), value, at);
                }
            }
            // Time has to be a text, and more is not asked.
            "then" | "format" | "$schema" | "$id" | "title" | "description" | "$defs" => {}
            other => self.expect(false, at, &format!("the keyword {other} is not understood")),
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut found = Vec::new();
        Checker { root: self.root, found: &mut found }.check(schema, value, "");
        found.is_empty()
    }

    fn expect(&mut self, fits: bool, at: &str, what: &str) {
        if !fits {
            self.found.push(format!("{at} {what}"));
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::violations;

    #[test]
    fn each_keyword_can_be_violated() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "enum": ["x", null] }, "c": { "items": { "const": 1 } } },
            "required": ["a"],
            "additionalProperties": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
            "allOf": [{ "if": { "properties": { "b": { "const": "x" } } }, "then": { "required": ["c"] } }],
            "$defs": { "n": { "type": "integer", "minimum": 0 } },
        });
        for (value, count) in [
            (json!({ "a": 1, "b": null, "c": [1, 1], "d": "more" }), 0),
            (json!([]), 1),
            (json!({ "b": null }), 1),
            (json!({ "a": -1, "b": null }), 1),
            (json!({ "a": "1", "b": null }), 1),
            (json!({ "a": 1, "b": "y" }), 1),
            (json!({ "a": 1, "b": "x" }), 1),
            (json!({ "a": 1, "b": null, "c": [1, 2] }), 1),
            (json!({ "a": 1, "b": null, "d": 5 }), 1),
        ] {
            assert_eq!(violations(&schema, &value).len(), count, "{value}: {:?}", violations(&schema, &value));
        }
        assert_eq!(violations(&json!({ "pattern": "x" }), &json!(1)).len(), 1, "what is not understood is no comfort");
    }
}
