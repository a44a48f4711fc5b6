//! The parameter `fields`, which selects the parts of an answer.

use serde_json::{Map, Value};

use super::failure::DriveApiError;
use super::schemas::FieldSchema;

/// A selection of the parts of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldMask {
    /// The whole value.
    All,
    /// Only these fields, each with its own selection.
    Fields(Vec<(String, FieldMask)>),
}

impl FieldMask {
    /// Parses a mask and checks it against the names in the schema.
    pub(crate) fn parse(text: &str, schema: &str) -> Result<Self, DriveApiError> {
        let mut reader = MaskParser { rest: text };
        let parsed = reader.parse_list().filter(|_| reader.rest.is_empty());
        let mask = parsed.ok_or_else(|| {
            DriveApiError::invalid_parameter("fields", format!("Invalid field selection {text}"))
        })?;
        mask.check_fields(FieldSchema::of_schema(schema))?;
        Ok(mask)
    }

    fn check_fields(&self, schema: FieldSchema) -> Result<(), DriveApiError> {
        let Self::Fields(fields) = self else {
            return Ok(());
        };
        for (name, mask) in fields.iter().filter(|(name, _)| name != "*") {
            let unknown = || {
                DriveApiError::invalid_parameter(
                    "fields",
                    format!("Invalid field selection {name}"),
                )
            };
            mask.check_fields(schema.find_field(name).ok_or_else(unknown)?)?;
        }
        Ok(())
    }

    /// Returns the selection for a field; `None` if the field is not selected.
    pub(crate) fn submask(&self, name: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else {
            return Some(self);
        };
        let find_mask = |field_name: &str| {
            fields
                .iter()
                .find(|(field, _)| field == field_name)
                .map(|(_, mask)| mask)
        };
        find_mask(name).or_else(|| find_mask("*"))
    }

    /// Returns the selected parts of a value.
    pub(crate) fn apply_to(&self, value: Value) -> Value {
        if *self == Self::All {
            return value;
        }
        match value {
            Value::Array(values) => values
                .into_iter()
                .map(|value| self.apply_to(value))
                .collect(),
            Value::Object(object) => Value::Object(self.pick_fields(object)),
            other => other,
        }
    }

    fn pick_fields(&self, object: Map<String, Value>) -> Map<String, Value> {
        let select = |(name, value): (String, Value)| {
            let value = self.submask(&name)?.apply_to(value);
            Some((name, value))
        };
        object.into_iter().filter_map(select).collect()
    }
}

/// A parser of `a,b/c,d(e,f)`.
struct MaskParser<'a> {
    rest: &'a str,
}

impl MaskParser<'_> {
    fn parse_list(&mut self) -> Option<FieldMask> {
        let mut fields = vec![self.parse_field()?];
        while self.consume(',') {
            fields.push(self.parse_field()?);
        }
        Some(FieldMask::Fields(fields))
    }

    fn parse_field(&mut self) -> Option<(String, FieldMask)> {
        let name = self.parse_name()?;
        if self.consume('/') {
            return Some((name, FieldMask::Fields(vec![self.parse_field()?])));
        }
        if self.consume('(') {
            let inner = self.parse_list()?;
            return self.consume(')').then_some((name, inner));
        }
        Some((name, FieldMask::All))
    }

    fn parse_name(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let end = text
            .find(|character: char| !character.is_ascii_alphanumeric() && character != '*')
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        self.rest = rest.trim_start();
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn consume(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character).map(str::trim_start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn masks_choose() {
        let list = json!({ "kind": "k", "nextPageToken": "n", "files": [
            { "id": "1", "name": "a", "owners": [{ "emailAddress": "x", "displayName": "y" }] },
            { "id": "2", "size": "3" },
        ] });
        for (mask, expected) in [
            ("nextPageToken", json!({ "nextPageToken": "n" })),
            (
                "files(id)",
                json!({ "files": [{ "id": "1" }, { "id": "2" }] }),
            ),
            (
                "files/id, kind",
                json!({ "kind": "k", "files": [{ "id": "1" }, { "id": "2" }] }),
            ),
            (
                "files(owners/emailAddress,size)",
                json!({ "files": [
                { "owners": [{ "emailAddress": "x" }] }, { "size": "3" },
            ] }),
            ),
            ("*", list.clone()),
        ] {
            let parsed = FieldMask::parse(mask, "FileList").unwrap();
            assert_eq!(parsed.apply_to(list.clone()), expected, "{mask}");
        }
    }

    #[test]
    fn wrong_masks_are_refused() {
        for mask in [
            "files(idd)",
            "files(id",
            "files)",
            "",
            "files(id),",
            "id",
            "files/owners/age",
            "kind(x)",
        ] {
            let failure = FieldMask::parse(mask, "FileList").unwrap_err();
            assert_eq!(
                (failure.status, failure.reason.as_str()),
                (400, "invalid"),
                "{mask}"
            );
        }
    }
}
