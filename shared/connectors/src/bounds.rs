//! How long may be what a provider says of an item: whoever fills a drive or a site says most of it, and a record has a
//! limit. Paths are put together by the engine, of names that are cut already.

/// The most characters of a name.
const NAME: usize = 500;
/// The most characters of a name's ending that is kept when the name is cut: kinds are told by it.
const ENDING: usize = 10;
/// The most characters of what a person is called.
const OWNER: usize = 320;
/// The most characters of a media type. The standard allows 127 on either side of the slash.
const MEDIA_TYPE: usize = 255;
/// The most bytes of an address.
const ADDRESS: usize = 2_048;

/// A name; one that is too long loses what comes before its ending.
pub(crate) fn name(name: String) -> String {
    if name.chars().nth(NAME).is_none() {
        return name;
    }

    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending)
        .filter(|ending| {
            (1..=ENDING).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });

    match ending {
        Some(ending) => {
            let ending = format!(".{ending}");
            let beginning: String = name.chars().take(NAME - ending.len()).collect();
            beginning + &ending
        }
        None => cut(name, NAME),
    }
}

/// What a person is called.
pub(crate) fn owner(owner: String) -> String {
    cut(owner, OWNER)
}

/// A media type, perhaps with parameters.
pub(crate) fn media_type(media_type: String) -> String {
    cut(media_type, MEDIA_TYPE)
}

/// An address; a part of one leads nowhere, so one that is too long is none.
pub(crate) fn address(address: String) -> Option<String> {
    Some(address).filter(|address| address.len() <= ADDRESS)
}

fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        for (given, wanted) in [
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
            assert_eq!(name(given.clone()), wanted, "{given}");
        }

        assert_eq!(owner("é".repeat(400)), "é".repeat(320));
        assert_eq!(media_type("x/".repeat(400)).len(), 255);
        assert_eq!(
            address("x".repeat(2_048)).map(|address| address.len()),
            Some(2_048)
        );
        assert_eq!(address("x".repeat(2_049)), None);
    }
}
