//! Refuses fields that look like the scope of a request but are not. The API ignores unknown
//! fields, but an ignored scope would widen the request to the whole organization or to the default
//! container, so these fields are refused by name.

use axum::extract::Request;
use domain::{Error, RequestIssue, Result};
use http::Uri;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use crate::extract::query_pairs;

/// The fields that name the scope of a request.
const SCOPES: [&str; 2] = ["containerTag", "containerTags"];
/// Other words for a container, in lower case and without separators.
const CONTAINER_SYNONYMS: [&str; 10] = [
    "container",
    "containers",
    "containerid",
    "containerids",
    "space",
    "spaces",
    "spaceid",
    "spaceids",
    "spacecontainertag",
    "spacecontainertags",
];
/// Other names of fields that narrow a request, in lower case and without separators, and the right ones.
const NARROWING_SYNONYMS: [(&str, &str); 4] = [
    ("filepath", "filepath"),
    ("filter", "filters"),
    ("docid", "docId"),
    ("documentid", "docId"),
];
/// The most edits between a field name and the scope that it is taken for. Two edits cover one
/// letter left out, doubled or changed, or two letters swapped.
const MAX_EDITS: usize = 2;

/// The names of the fields that a request type reads. Empty for a type that takes any name.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldNames(Vec<&'static str>);

impl FieldNames {
    /// Returns the fields of `T`.
    pub(crate) fn of<'de, T: Deserialize<'de>>() -> Self {
        let mut fields = Self::default();
        // This always fails: the probe has no value to offer and only records the fields that are
        // asked for.
        T::deserialize(FieldProbe(&mut fields.0)).ok();
        fields
    }

    /// Returns the fields of both types.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns the names one after another.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }

    /// Checks whether a name is among the fields.
    pub(crate) fn contain(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// Checks whether a scope is among the fields.
    pub(crate) fn contain_scope(&self) -> bool {
        self.0.iter().any(|field| SCOPES.contains(field))
    }

    /// Refuses names that look like a scope and are not among these fields.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the right field.
    pub(crate) fn check_names<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        names
            .into_iter()
            .try_for_each(|name| check_field_name(name, &self.0))
    }

    /// Refuses scopes in the query string of a request that has these fields in its body.
    ///
    /// # Errors
    /// [`Error::Invalid`] that says where the scope belongs.
    pub(crate) fn check_unread_query(&self, uri: &Uri) -> Result<()> {
        for (name, _) in query_pairs(uri) {
            if looks_like_scope(&name) {
                let suggestion = right_name(&name, &self.0);
                return Err(unknown_field_error(
                    &name,
                    suggestion.map(|suggestion| format!("send `{suggestion}` in the body")),
                ));
            }
        }
        Ok(())
    }
}

/// A marker of a request whose query string has been read, and therefore checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryIsRead;

/// Refuses a scope in the query string of a request that reads its fields only from the body.
///
/// # Errors
/// Those of [`FieldNames::check_unread_query`].
pub(crate) fn check_query(request: &Request, fields: &FieldNames) -> Result<()> {
    if request.extensions().get::<QueryIsRead>().is_some() {
        return Ok(());
    }
    fields.check_unread_query(request.uri())
}

/// Refuses a name that looks like a scope, or like a field that narrows the request, and is not among the
/// fields that a request takes.
///
/// # Errors
/// [`Error::Invalid`] that names the right field.
pub fn check_field_name(name: &str, accepted: &[&str]) -> Result<()> {
    if accepted.contains(&name) {
        return Ok(());
    }
    if let Some(right) = narrowing_field(name, accepted) {
        return Err(unknown_field_error(
            name,
            Some(format!("did you mean `{right}`?")),
        ));
    }
    if !looks_like_scope(name) {
        return Ok(());
    }
    Err(unknown_field_error(
        name,
        right_name(name, accepted).map(|suggestion| format!("did you mean `{suggestion}`?")),
    ))
}

fn unknown_field_error(name: &str, advice: Option<String>) -> Error {
    let advice = advice.unwrap_or_else(|| "this request takes no container tag".to_owned());
    let message = format!("unknown field `{name}`: {advice}");
    let issue = RequestIssue {
        path: vec![name.to_owned()],
        message: message.clone(),
    };
    Error::Invalid {
        message,
        issues: vec![issue],
    }
}

/// Returns the scope that was meant. If the request takes both, the plural matches the plural.
fn right_name(name: &str, accepted: &[&str]) -> Option<&'static str> {
    let [singular, plural] = SCOPES;
    let (has_singular, has_plural) = (accepted.contains(&singular), accepted.contains(&plural));
    let is_plural = name.to_ascii_lowercase().ends_with('s');
    match (has_singular, has_plural) {
        (true, true) => Some(if is_plural { plural } else { singular }),
        (true, false) => Some(singular),
        (false, true) => Some(plural),
        (false, false) => None,
    }
}

/// Returns the accepted field that narrows the request and that was meant by this name.
fn narrowing_field(name: &str, accepted: &[&str]) -> Option<&'static str> {
    let name = normalize_name(name)?;
    let (_, right) = NARROWING_SYNONYMS
        .into_iter()
        .find(|(synonym, right)| name == *synonym && accepted.contains(right))?;
    Some(right)
}

/// Returns a name in lower case and without separators, or `None` if it is longer than any misspelling of
/// a known name.
fn normalize_name(name: &str) -> Option<String> {
    const MAX_NAME_BYTES: usize = 32;
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    Some(letters.flat_map(char::to_lowercase).collect())
}

fn looks_like_scope(name: &str) -> bool {
    let Some(normalized) = normalize_name(name) else {
        return false;
    };
    CONTAINER_SYNONYMS.contains(&normalized.as_str())
        || SCOPES
            .iter()
            .any(|scope| strsim::levenshtein(&normalized, &scope.to_lowercase()) <= MAX_EDITS)
}

/// A deserializer that records the fields for which a struct asks.
struct FieldProbe<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for FieldProbe<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> std::result::Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Self::Error> {
        self.0.extend(fields);
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its fields matter")]
    struct Both {
        container_tag: Option<String>,
        container_tags: Option<Vec<String>>,
        #[serde(alias = "second")]
        other: Option<String>,
    }

    #[test]
    fn the_fields_of_a_type_are_those_that_it_reads() {
        let fields = FieldNames::of::<Both>();
        assert!(
            ["containerTag", "containerTags", "other", "second"]
                .iter()
                .all(|name| fields.0.contains(name))
        );
        assert!(
            fields.contain_scope()
                && !FieldNames::of::<serde_json::Map<String, serde_json::Value>>().contain_scope()
        );
    }

    #[test]
    fn a_misspelled_scope_is_refused_with_the_right_name() {
        let error_message = |name: &str, accepted: &[&str]| {
            check_field_name(name, accepted)
                .err()
                .map(|error| error.to_string())
        };

        let both = SCOPES;
        for (name, suggestion) in [
            ("container_tag", "containerTag"),
            ("container_tags", "containerTags"),
            ("containertag", "containerTag"),
            ("ContainerTags", "containerTags"),
            ("container-tag", "containerTag"),
            ("contanerTag", "containerTag"),
            ("containerTga", "containerTag"),
            ("conatinerTags", "containerTags"),
            ("spaceId", "containerTag"),
            ("space_id", "containerTag"),
            ("spaces", "containerTags"),
            ("container", "containerTag"),
        ] {
            let expected = format!("unknown field `{name}`: did you mean `{suggestion}`?");
            assert_eq!(
                error_message(name, &both).as_deref(),
                Some(expected.as_str())
            );
        }

        assert!(
            error_message("containerTag", &["containerTags"])
                .unwrap()
                .ends_with("did you mean `containerTags`?")
        );
        assert!(
            error_message("containerTags", &["containerTag"])
                .unwrap()
                .ends_with("did you mean `containerTag`?")
        );
        assert!(
            error_message("containerTag", &[])
                .unwrap()
                .ends_with("this request takes no container tag")
        );
    }

    #[test]
    fn a_misspelled_field_that_narrows_a_request_is_refused() {
        for (name, right) in [
            ("filePath", "filepath"),
            ("file_path", "filepath"),
            ("filter", "filters"),
            ("documentId", "docId"),
            ("doc_id", "docId"),
        ] {
            let error = check_field_name(name, &[right]).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("did you mean `{right}`?")),
                "{error}"
            );
            assert!(check_field_name(name, &["q"]).is_ok(), "{name}");
            assert!(check_field_name(name, &[right, name]).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_other_unknown_field_stays_unknown_and_ignored() {
        for name in [
            "tags",
            "tag",
            "content",
            "targetContainerTag",
            "namespace",
            "userId",
            "context",
            "ä",
            "",
        ] {
            assert!(check_field_name(name, &SCOPES).is_ok(), "{name}");
        }

        assert!(check_field_name(&"containerTag".repeat(1000), &SCOPES).is_ok());
    }
}
