//! Length limits for what a provider reports about an item. Its texts come mostly from the people
//! who fill a drive or a site, and the size of a record is limited. Paths need no limit here,
//! because the engine joins them from names that are already cut.

/// The most characters of a name.
const MAX_NAME_CHARS: usize = 500;
/// The most characters of a file extension that is kept when the name is cut, because it indicates
/// the type of the file.
const MAX_EXTENSION_CHARS: usize = 10;
/// The most characters of the name of an owner.
const MAX_OWNER_CHARS: usize = 320;
/// The most characters of a media type. The standard allows 127 on either side of the slash.
const MAX_MEDIA_TYPE_CHARS: usize = 255;
/// The most bytes of an address.
const MAX_ADDRESS_BYTES: usize = 2_048;

/// Cuts a name that is too long, before its extension.
pub(crate) fn limit_name(name: String) -> String {
    if name.chars().nth(MAX_NAME_CHARS).is_none() {
        return name;
    }

    match name.rsplit_once('.') {
        Some((_, extension)) if is_extension(extension) => {
            let extension = format!(".{extension}");
            let stem: String = name
                .chars()
                .take(MAX_NAME_CHARS - extension.len())
                .collect();
            stem + &extension
        }
        _ => truncate_chars(name, MAX_NAME_CHARS),
    }
}

fn is_extension(text: &str) -> bool {
    (1..=MAX_EXTENSION_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Cuts the name of an owner that is too long.
pub(crate) fn limit_owner(owner: String) -> String {
    truncate_chars(owner, MAX_OWNER_CHARS)
}

/// Cuts a media type that is too long. It may have parameters.
pub(crate) fn limit_media_type(media_type: String) -> String {
    truncate_chars(media_type, MAX_MEDIA_TYPE_CHARS)
}

/// Returns `None` for an address that is too long, because a part of an address leads nowhere.
pub(crate) fn limit_address(address: String) -> Option<String> {
    Some(address).filter(|address| address.len() <= MAX_ADDRESS_BYTES)
}

fn truncate_chars(mut text: String, limit: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        for (input, expected) in [
            ("plan.md".to_owned(), "plan.md".to_owned()),
            ("ö".repeat(500), "ö".repeat(500)),
            ("ö".repeat(501), "ö".repeat(500)),
            (
                format!("{}.md", "ö".repeat(600)),
                format!("{}.md", "ö".repeat(497)),
            ),
            (format!("{}.no ending", "x".repeat(600)), "x".repeat(500)),
            (
                format!("a.{}", "x".repeat(600)),
                format!("a.{}", "x".repeat(498)),
            ),
        ] {
            assert_eq!(limit_name(input.clone()), expected, "{input}");
        }

        assert_eq!(limit_owner("é".repeat(400)), "é".repeat(320));
        assert_eq!(limit_media_type("x/".repeat(400)).len(), 255);
        assert_eq!(
            limit_address("x".repeat(2_048)).map(|address| address.len()),
            Some(2_048)
        );
        assert_eq!(limit_address("x".repeat(2_049)), None);
    }
}
