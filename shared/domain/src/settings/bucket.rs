//! Buckets: the topics by which profiles arrange memories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A topic by which a profile arranges memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Bucket")]
pub struct ProfileBucket {
    /// The name, which is neither `static` nor `dynamic`.
    #[schemars(length(max = MAX_KEY), regex(pattern = "^[a-z0-9][a-z0-9_-]*$"))]
    #[schemars(extend("not" = {"enum": ["static", "dynamic"]}))]
    pub key: String,
    /// The description of what belongs to the topic.
    #[schemars(length(min = 1, max = MAX_DESCRIPTION))]
    pub description: String,
}

/// The largest number of buckets of an organization, and of a container tag. This limit is part of
/// the API.
pub const MAX_BUCKETS: usize = 50;
/// The largest number of characters in a key. This limit is part of the API.
const MAX_KEY: usize = 64;
/// The largest number of characters in a description. This limit is part of the API.
const MAX_DESCRIPTION: usize = 2000;
/// The largest total size of all descriptions in bytes. They are stored in one item, which many
/// requests read as a whole.
const MAX_BUCKET_BYTES: usize = 128 * 1024;
/// The key of the default bucket, for organizations that have not set any.
pub const PREFERENCES: &str = "preferences";

impl ProfileBucket {
    /// Returns the default bucket, for organizations that have not set any.
    pub(super) fn default_bucket() -> Self {
        let description = "Likes, dislikes, preferences and opinions: what somebody enjoys, favours, avoids or wants.";
        Self {
            key: PREFERENCES.into(),
            description: description.into(),
        }
    }

    /// Checks the buckets that a caller sent in the field `field`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the rule that is broken.
    pub fn check_buckets(field: &str, buckets: &[Self]) -> Result<()> {
        if buckets.len() > MAX_BUCKETS {
            return Err(Error::invalid_field(
                field,
                format!("at most {MAX_BUCKETS} buckets"),
            ));
        }

        for (index, bucket) in buckets.iter().enumerate() {
            bucket.check_bucket(field)?;
            if buckets[..index].iter().any(|other| other.key == bucket.key) {
                return Err(Error::invalid_field(
                    field,
                    format!("the key {} comes twice", bucket.key),
                ));
            }
        }

        if buckets
            .iter()
            .map(|bucket| bucket.description.len())
            .sum::<usize>()
            > MAX_BUCKET_BYTES
        {
            let rule = format!(
                "at most {} KB of descriptions together",
                MAX_BUCKET_BYTES / 1024
            );
            return Err(Error::invalid_field(field, rule));
        }

        Ok(())
    }

    fn check_bucket(&self, field: &str) -> Result<()> {
        let is_word_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let key = self.key.as_bytes();
        let fits = key.first().is_some_and(|first| is_word_byte(*first))
            && key.len() <= MAX_KEY
            && key
                .iter()
                .all(|byte| is_word_byte(*byte) || b"_-".contains(byte));
        if !fits {
            let rule = format!(
                "a key has 1 to {MAX_KEY} characters of a-z, 0-9, underscore and hyphen, and begins with a letter or digit"
            );
            return Err(Error::invalid_field(field, rule));
        }

        if ["static", "dynamic"].contains(&self.key.as_str()) {
            let rule = format!(
                "{} is a part of every profile and cannot be a bucket",
                self.key
            );
            return Err(Error::invalid_field(field, rule));
        }

        let has_description = !self.description.trim().is_empty();
        if !has_description || self.description.chars().count() > MAX_DESCRIPTION {
            let rule = format!(
                "the description of {} has 1 to {MAX_DESCRIPTION} characters",
                self.key
            );
            return Err(Error::invalid_field(field, rule));
        }

        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(key: &str, description: &str) -> ProfileBucket {
        ProfileBucket {
            key: key.into(),
            description: description.into(),
        }
    }

    #[test]
    fn buckets_follow_the_rules() {
        let check =
            |buckets: &[ProfileBucket]| ProfileBucket::check_buckets("profileBuckets", buckets);
        for good in ["a", "0", "work-2_x", &"k".repeat(64)] {
            check(&[bucket(good, "x")]).unwrap();
        }

        for bad in [
            "",
            "A",
            "-a",
            "_a",
            "a b",
            "ä",
            "a.b",
            "static",
            "dynamic",
            &"k".repeat(65),
        ] {
            assert!(check(&[bucket(bad, "x")]).is_err(), "{bad}");
        }

        check(&[bucket("a", &"ü".repeat(2000))]).unwrap();
        for bad in ["", "  ", &"x".repeat(2001)] {
            assert!(check(&[bucket("a", bad)]).is_err());
        }

        assert!(check(&[bucket("a", "x"), bucket("a", "y")]).is_err());
        let many: Vec<ProfileBucket> = (0..51)
            .map(|i| bucket(&format!("k{i}"), &"x".repeat(2000)))
            .collect();
        assert!(check(&many).is_err());
        check(&many[..50]).unwrap();
        let wide: Vec<ProfileBucket> = (0..50)
            .map(|i| bucket(&format!("k{i}"), &"日".repeat(2000)))
            .collect();
        assert!(check(&wide).is_err());
    }
}
