//! Fields that many requests share, read as leniently as existing clients need.

use domain::metadata::MAX_METADATA_BYTES;
use domain::{ContainerTag, Error, Result, Tenant, whole_float};
use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use service::{ContainerScope, SortBy};

/// The position of a page in a listing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// The number of the page, from 1.
    #[schemars(range(min = 1))]
    pub current_page: usize,
    /// The number of items on a page.
    #[schemars(range(min = 1))]
    pub limit: usize,
    /// The number of items on all pages.
    pub total_items: usize,
    /// The number of pages.
    pub total_pages: usize,
}

impl Pagination {
    /// Returns the pagination of page `page` with `limit` items a page and `total` items in all.
    pub fn new(page: usize, limit: usize, total: usize) -> Self {
        Self {
            current_page: page,
            limit,
            total_items: total,
            total_pages: total.div_ceil(limit.max(1)),
        }
    }
}

/// The body of a request that reads nothing from it. Every field is refused. It is for requests
/// that delete something, where an option that is ignored must not delete more than was meant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoFields {}

/// Returns the number and the size of a page.
///
/// # Errors
/// [`Error::Invalid`] about `page` if it is 0, and about `limit` if it is 0 or more than `max_limit`.
pub fn page_and_limit(
    page: Option<usize>,
    limit: Option<usize>,
    default_limit: usize,
    max_limit: usize,
) -> Result<(usize, usize)> {
    let (page, limit) = (page.unwrap_or(1), limit.unwrap_or(default_limit));
    if page == 0 {
        return Err(Error::invalid_field("page", "1 or more"));
    }
    if !(1..=max_limit).contains(&limit) {
        return Err(Error::invalid_field("limit", format!("1 to {max_limit}")));
    }
    Ok((page, limit))
}

/// Returns the items of a page of a list that was read as a whole.
pub fn take_page<T>(items: Vec<T>, page: usize, limit: usize) -> Vec<T> {
    let start = page.saturating_sub(1).saturating_mul(limit);
    items.into_iter().skip(start).take(limit).collect()
}

/// The field by which a listing is sorted.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SortField {
    /// The time of creation.
    #[default]
    CreatedAt,
    /// The time of the last change.
    UpdatedAt,
}

impl From<SortField> for SortBy {
    fn from(field: SortField) -> Self {
        match field {
            SortField::CreatedAt => Self::CreatedAt,
            SortField::UpdatedAt => Self::UpdatedAt,
        }
    }
}

/// The direction of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SortOrder")]
pub enum Order {
    /// The oldest first.
    Asc,
    /// The newest first.
    Desc,
}

/// Reads a number that may come as a string of digits, because clients send both.
///
/// # Errors
/// The deserializer's error for anything else.
pub fn deserialize_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let invalid = || serde::de::Error::custom("expected a whole number, 0 or more");
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match whole_number(&number) {
            Some(count) => Ok(Some(count)),
            None => Err(invalid()),
        },
        Some(Value::String(text)) => match text.trim().parse() {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(invalid()),
        },
        Some(_) => Err(invalid()),
    }
}

/// Returns a number without a sign and a fraction. compat: clients in languages with one type of
/// numbers write `10.0`.
fn whole_number(number: &serde_json::Number) -> Option<usize> {
    if let Some(count) = number.as_u64() {
        return usize::try_from(count).ok();
    }
    let text = number.to_string();
    text.strip_suffix(".0")?.parse().ok()
}

/// Returns a whole number. compat: clients in languages with one type of numbers write `10.0`.
pub fn as_whole_number(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    number.as_i64().or_else(|| whole_float(number))
}

/// Reads a whole number, as [`as_whole_number`] does.
///
/// # Errors
/// The deserializer's error for anything else but `null`.
pub fn deserialize_whole_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match as_whole_number(&value) {
        Some(number) => Ok(Some(number)),
        None => Err(serde::de::Error::custom("expected a whole number")),
    }
}

/// Reads a boolean that may come as `"true"` or `"false"`. Absent and `null` count as `false`.
///
/// # Errors
/// The deserializer's error for anything else.
pub fn deserialize_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(serde::de::Error::custom("expected true or false")),
    }
}

/// Reads an object by the names of its fields. The implementation that serde derives would also
/// take a list of their values.
fn deserialize_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(ByName(deserializer))
}

/// A deserializer that reads structs only from maps.
struct ByName<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ByName<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads an object by the names of its fields, or `null`. The implementation that serde derives would
/// also take a list of their values.
///
/// # Errors
/// The deserializer's error for anything else.
pub fn deserialize_optional_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Named<T>(T);
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserialize_object(deserializer).map(Self)
        }
    }
    Ok(Option::<Named<T>>::deserialize(deserializer)?.map(|named| named.0))
}

/// The most entries of a list in a request, unless the list has its own limit. Each entry may cost
/// a read.
pub const MAX_ENTRIES: usize = 100;

/// Checks that a list in a request has at most `max` entries.
///
/// # Errors
/// [`Error::Invalid`] about `field` if it has more.
pub fn check_length<T>(field: &str, list: &[T], max: usize) -> Result<()> {
    if list.len() > max {
        return Err(Error::invalid_field(
            field,
            format!("at most {max} entries, not {}", list.len()),
        ));
    }
    Ok(())
}

/// Returns the containers that a request is about, from `containerTag` and the older
/// `containerTags`.
///
/// # Errors
/// [`Error::Invalid`] for a malformed tag, or for more than [`MAX_ENTRIES`] tags.
pub fn parse_scope(
    container_tag: Option<&str>,
    container_tags: Option<&[String]>,
) -> Result<ContainerScope> {
    let container_tags = container_tags.unwrap_or_default();
    check_length("containerTags", container_tags, MAX_ENTRIES)?;

    let mut tags = Vec::new();
    let other_tags = container_tags.iter().map(String::as_str);
    for text in container_tag.into_iter().chain(other_tags) {
        let tag = ContainerTag::parse(text)?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(ContainerScope { tags })
}

/// Returns the one container tag that a request names, if it names one.
///
/// # Errors
/// [`Error::Invalid`] for a malformed tag, or for more than one tag.
pub fn parse_single_tag(
    container_tag: Option<&str>,
    container_tags: Option<&[String]>,
) -> Result<Option<ContainerTag>> {
    let mut tags = parse_scope(container_tag, container_tags)?.tags;
    if tags.len() > 1 {
        return Err(Error::invalid_field(
            "containerTags",
            "only one tag can be named here",
        ));
    }
    Ok(tags.pop())
}

/// Returns the one container that a request is about: the one that it names, or else the only one
/// that its key reaches.
///
/// # Errors
/// Those of [`parse_single_tag`], and [`Error::Invalid`] with the message `missing_message` if
/// neither names one.
pub fn resolve_tag(
    tenant: &Tenant,
    container_tag: Option<&str>,
    container_tags: Option<&[String]>,
    missing_message: &str,
) -> Result<ContainerTag> {
    match (
        parse_single_tag(container_tag, container_tags)?,
        tenant.allowed_tags(),
    ) {
        (Some(tag), _) => Ok(tag),
        (None, Some([allowed])) => Ok(allowed.clone()),
        (None, _) => Err(Error::invalid_field("containerTag", missing_message)),
    }
}

/// The most bytes of metadata given as text. They are more than metadata has at most, because a text
/// may escape each character in six bytes and be indented.
const MAX_OBJECT_TEXT_BYTES: usize = 8 * MAX_METADATA_BYTES;

/// Parses metadata given as text, as in multipart fields: a JSON object.
///
/// # Errors
/// [`Error::Invalid`] about `field` if the text is not a JSON object, or is longer than any metadata.
pub fn parse_object_text(field: &str, text: &str) -> Result<serde_json::Map<String, Value>> {
    let size = text.len();
    if size > MAX_OBJECT_TEXT_BYTES {
        let message = format!("{size} bytes, but at most {MAX_OBJECT_TEXT_BYTES} are read");
        return Err(Error::invalid_field(field, message));
    }
    serde_json::from_str(text).map_err(|_| Error::invalid_field(field, "a JSON object as text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        a: u8,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        #[serde(deserialize_with = "deserialize_object")]
        one: Inner,
        #[serde(default, deserialize_with = "deserialize_optional_object")]
        two: Option<Inner>,
    }

    #[test]
    fn an_object_is_not_a_list_of_its_values() {
        let read = |value: Value| serde_json::from_value::<Outer>(value);
        assert_eq!(
            read(json!({"one": {"a": 1}})).unwrap(),
            Outer {
                one: Inner { a: 1 },
                two: None
            }
        );
        assert_eq!(
            read(json!({"one": {"a": 1}, "two": null})).unwrap().two,
            None
        );
        assert_eq!(
            read(json!({"one": {"a": 1}, "two": {"a": 2}})).unwrap().two,
            Some(Inner { a: 2 })
        );

        for bad in [
            json!({"one": [1]}),
            json!({"one": {"a": 1}, "two": [2]}),
            json!({"one": null}),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn metadata_given_as_text_has_a_limit() {
        let text = |size: usize| format!(r#"{{"a":1{}}}"#, " ".repeat(size - 7));
        assert!(parse_object_text("metadata", &text(MAX_OBJECT_TEXT_BYTES)).is_ok());

        let refusal = parse_object_text("metadata", &text(MAX_OBJECT_TEXT_BYTES + 1));
        let message = refusal.unwrap_err().to_string();
        assert_eq!(
            message,
            "metadata: 131073 bytes, but at most 131072 are read"
        );
    }
}
