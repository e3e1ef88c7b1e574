//! A validator for the part of JSON Schema 2020-12 that `schema/output.schema.json` is written in.
//!
//! A keyword that it does not know is a panic: nothing in the schema goes unchecked.

use serde_json::{Map, Value};

/// A schema document.
pub struct Schema(pub Value);

type Check = Result<(), String>;

fn expect(holds: bool, what: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(what()) }
}

impl Schema {
    /// Checks a value against the definition with this name; what is wrong, and where.
    pub fn check(&self, definition: &str, value: &Value) -> Check {
        self.against(self.definition(definition), value, definition)
    }

    /// A definition of the schema.
    pub fn definition(&self, name: &str) -> &Value {
        self.0["$defs"].get(name).unwrap_or_else(|| panic!("no definition {name}"))
    }

    /// Checks a value against the whole schema.
    pub fn check_any(&self, value: &Value) -> Check {
        self.against(&self.0, value, "line")
    }

    fn against(&self, schema: &Value, value: &Value, at: &str) -> Check {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("{at}: a schema is an object"));
        keywords.iter().try_for_each(|(keyword, rule)| self.keyword(keyword, rule, keywords, value, at))
    }

    fn keyword(
        &self,
        keyword: &str,
        rule: &Value,
        all: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Check {
        match keyword {
            "$schema" | "$defs" | "title" | "description" => Ok(()),
            "$ref" => {
                let name = rule.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a local reference");
                self.against(self.definition(name), value, at)
            }
            "anyOf" => {
                let any =
                    rule.as_array().expect("a list").iter().any(|one| self.against(one, value, at).is_ok());
                expect(any, || format!("{at}: none of the alternatives"))
            }
            "type" => expect(has_type(rule, value), || format!("{at}: {value} is no {rule}")),
            "enum" => expect(rule.as_array().expect("a list").contains(value), || format!("{at}: {value}")),
            "format" => expect(is_time(rule, value), || format!("{at}: {value} is no time")),
            "required" => rule.as_array().expect("a list").iter().try_for_each(|name| {
                let name = name.as_str().expect("a name");
                let absent = value.as_object().is_some_and(|object| !object.contains_key(name));
                expect(!absent, || format!("{at}: no {name}"))
            }),
            "properties" => rule.as_object().expect("an object").iter().try_for_each(|(name, schema)| {
                value.get(name).map_or(Ok(()), |value| self.against(schema, value, &format!("{at}.{name}")))
            }),
            "additionalProperties" => {
                assert_eq!(rule, &Value::Bool(false), "{at}");
                let known = |name: &String| all["properties"].get(name).is_some();
                let more = value.as_object().and_then(|object| object.keys().find(|name| !known(name)));
                expect(more.is_none(), || format!("{at}: {more:?} is not in the schema"))
            }
            "items" => {
                value.as_array().into_iter().flatten().try_for_each(|item| self.against(rule, item, at))
            }
            _ => expect(within(keyword, rule, value), || format!("{at}: {value}, {keyword} {rule}")),
        }
    }
}

fn has_type(rule: &Value, value: &Value) -> bool {
    if let Value::Array(types) = rule {
        return types.iter().any(|one| has_type(one, value));
    }
    match rule.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other}"),
    }
}

fn is_time(rule: &Value, value: &Value) -> bool {
    assert_eq!(rule, "date-time");
    value.as_str().is_none_or(|time| humantime::parse_rfc3339(time).is_ok())
}

/// Bounds hold for the values that they are about, and for all others.
fn within(keyword: &str, rule: &Value, value: &Value) -> bool {
    let number = |holds: fn(f64, f64) -> bool| {
        value.as_f64().is_none_or(|value| holds(value, rule.as_f64().expect("a bound")))
    };
    let length = |length: Option<usize>, holds: fn(usize, usize) -> bool| {
        length.is_none_or(|length| holds(length, rule.as_u64().expect("a length") as usize))
    };
    let items = value.as_array();
    match keyword {
        "minimum" => number(|value, bound| value >= bound),
        "maximum" => number(|value, bound| value <= bound),
        "exclusiveMinimum" => number(|value, bound| value > bound),
        "exclusiveMaximum" => number(|value, bound| value < bound),
        "minItems" => length(items.map(Vec::len), |length, bound| length >= bound),
        "maxItems" => length(items.map(Vec::len), |length, bound| length <= bound),
        "minLength" => {
            length(value.as_str().map(|text| text.chars().count()), |length, bound| length >= bound)
        }
        "uniqueItems" => items.is_none_or(|items| (1..items.len()).all(|i| !items[..i].contains(&items[i]))),
        other => panic!("keyword {other} is not one that this validator knows"),
    }
}
