//! Everything that is parsed from a single text: messages, keys, ids, tags, dates.

#![no_main]

use domain::key::PresentedKey;
use domain::{ContainerTag, CustomId, DocumentId, JobMessage, OrgId, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let of = |more: &str, most: usize| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        (1..=most).contains(&text.len()) && text.chars().all(allowed)
    };
    let lower = !text.contains(|c: char| c.is_ascii_uppercase());
    assert_eq!(CustomId::parse(text).is_ok(), of("_.:-", 255));
    assert_eq!(ContainerTag::parse(text).is_ok(), of("_:-", 100));
    assert_eq!(OrgId::parse(text).is_ok(), of("-", 40) && lower);
    assert_eq!(
        DocumentId::parse(text).is_some(),
        of("", 22) && text.len() == 22
    );
    if let Some(key) = PresentedKey::parse(text) {
        assert!(
            text.starts_with(&format!("rk_{}_", key.id()))
                && key.verify_against(None, Timestamp::from_millis(0)).is_err()
        );
    }
    if let Some(message) = JobMessage::parse(text) {
        assert_eq!(JobMessage::parse(&message.to_json()), Some(message));
    }
    if let Ok(time) = Timestamp::parse("documentDate", text) {
        assert_eq!(
            Timestamp::parse("documentDate", &time.to_string()).ok(),
            Some(time),
            "{time}"
        );
    }
});
