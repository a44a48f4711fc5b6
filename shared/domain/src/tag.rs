//! Container tags: the names that callers give to containers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// The largest number of tags of a document. The first document with a combination of tags changes
/// the records of all of them in one transaction, which DynamoDB limits to 100 items.
pub const MAX_TAGS_PER_DOCUMENT: usize = 50;

/// A container tag: 1 to 100 characters of `[a-zA-Z0-9_:.-]`, and not only dots.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 1, "maxLength" = 100, "pattern" = "^[.]*[a-zA-Z0-9_:-][a-zA-Z0-9_:.-]*$"))]
pub struct ContainerTag(String);

impl ContainerTag {
    /// The tag of content that is sent without one. Existing clients use this name.
    pub const DEFAULT: &'static str = "sm_project_default";

    /// Parses a tag.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the rule that is broken.
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_:.-".contains(&b);
        // A tag is a part of paths, where `.` and `..` have a meaning of their own.
        let is_dots = text.bytes().all(|b| b == b'.');
        if is_dots || text.len() > 100 || !text.bytes().all(allowed) {
            return Err(Error::invalid_field(
                "containerTag",
                "1 to 100 characters of letters, digits, underscore, colon, full stop and hyphen",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the tag of content that is sent without one.
    pub fn default_tag() -> Self {
        Self(Self::DEFAULT.to_owned())
    }

    /// Returns the tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for ContainerTag {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Display for ContainerTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_follow_the_pattern() {
        for good in ["a", "user_1:project-2", "a.b", ".a", &"x".repeat(100)] {
            assert!(ContainerTag::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", ".", "..", "ü", "a/b", &"x".repeat(101), "a#b"] {
            assert!(ContainerTag::parse(bad).is_err(), "{bad}");
        }
    }
}
