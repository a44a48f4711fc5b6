//! Tests of the connector against a server with scripted answers. The tests in `tests/drive` run
//! all of it against a complete fake drive.

mod content;
mod pages;
mod permission;
mod stage;
mod told;

use domain::ports::{ConnectorError, ItemKind, ProviderItem};
use domain::time::Timestamp;
use serde_json::{Value, json};

const HTML: &str = "Content-Type: text/html\r\n";

/// Returns an error in the format of the API.
fn api_error(status: u16, reason: &str) -> Value {
    json!({"error": {"code": status, "message": "private words", "errors": [{"domain": "global", "reason": reason}]}})
}

/// Returns a file that counts as just listed.
fn test_item(media_type: &str) -> ProviderItem {
    ProviderItem {
        id: "f1".into(),
        parent: None,
        name: "Plan".into(),
        kind: ItemKind::File {
            document: super::kinds::native_type(media_type),
        },
        drive: None,
        media_type: media_type.into(),
        version: "1".into(),
        content_version: String::new(),
        size: None,
        modified_at: Timestamp::from_millis(0),
        url: None,
        owner: None,
        is_trashed: false,
    }
}

/// Formats an error with all its causes, as a log may have it.
fn error_text(error: &ConnectorError) -> String {
    let mut words = format!("{error:?} {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push_str(&format!(" {error:?} {error}"));
        cause = error.source();
    }
    words
}
