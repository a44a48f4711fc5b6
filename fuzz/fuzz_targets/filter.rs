//! A filter and the metadata that it is applied to, as two JSON values separated by a NUL byte.

#![no_main]

use domain::{Filter, Metadata};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, from_str, json};

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let (filter, metadata) = text.split_once('\0').unwrap_or((&text, "{}"));
    let _ = Filter::parse(&filter.into());
    let Ok(mut value) = from_str::<Value>(filter) else {
        return;
    };
    let Ok(parsed) = Filter::parse(&value) else {
        return;
    };
    let metadata = Metadata::from_stored(from_str(metadata).unwrap_or_default());
    let holds = parsed.matches(&metadata);
    if value.is_object() {
        assert_eq!(
            Filter::parse(&filter.into()).expect("the same as a string"),
            parsed
        );
    }
    if value.get("key").is_some() {
        let negated = value["negate"] == true || value["negate"] == "true";
        value["negate"] = json!(!negated);
        assert_ne!(
            Filter::parse(&value)
                .expect("the negation")
                .matches(&metadata),
            holds
        );
    }
});
