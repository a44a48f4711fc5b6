//! The parameter `fields`, which selects the parts of an answer.

use serde_json::{Map, Value};

use super::failure::Failure;
use super::schemas::Below;

/// A selection of the parts of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mask {
    /// The whole value.
    All,
    /// Only these fields, each with its own selection.
    Fields(Vec<(String, Mask)>),
}

impl Mask {
    /// Parses a mask and checks it against the names in the schema.
    pub(crate) fn parse(text: &str, schema: &str) -> Result<Self, Failure> {
        let mut reader = Reader { rest: text };
        let parsed = reader.list().filter(|_| reader.rest.is_empty());
        let mask = parsed
            .ok_or_else(|| Failure::invalid("fields", format!("Invalid field selection {text}")))?;
        mask.check(Below::of_schema(schema))?;
        Ok(mask)
    }

    fn check(&self, below: Below) -> Result<(), Failure> {
        let Self::Fields(fields) = self else {
            return Ok(());
        };
        for (name, mask) in fields.iter().filter(|(name, _)| name != "*") {
            let unknown = || Failure::invalid("fields", format!("Invalid field selection {name}"));
            mask.check(below.field(name).ok_or_else(unknown)?)?;
        }
        Ok(())
    }

    /// Returns the selection for a field; `None` if the field is not selected.
    pub(crate) fn below(&self, name: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else {
            return Some(self);
        };
        let named = |sought: &str| {
            fields
                .iter()
                .find(|(field, _)| field == sought)
                .map(|(_, mask)| mask)
        };
        named(name).or_else(|| named("*"))
    }

    /// Returns the selected parts of a value.
    pub(crate) fn apply(&self, value: Value) -> Value {
        if *self == Self::All {
            return value;
        }
        match value {
            Value::Array(values) => values.into_iter().map(|value| self.apply(value)).collect(),
            Value::Object(object) => Value::Object(self.pick(object)),
            other => other,
        }
    }

    fn pick(&self, object: Map<String, Value>) -> Map<String, Value> {
        let wanted = |(name, value): (String, Value)| {
            let value = self.below(&name)?.apply(value);
            Some((name, value))
        };
        object.into_iter().filter_map(wanted).collect()
    }
}

/// A parser of `a,b/c,d(e,f)`.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn list(&mut self) -> Option<Mask> {
        let mut fields = vec![self.field()?];
        while self.eat(',') {
            fields.push(self.field()?);
        }
        Some(Mask::Fields(fields))
    }

    fn field(&mut self) -> Option<(String, Mask)> {
        let name = self.name()?;
        if self.eat('/') {
            return Some((name, Mask::Fields(vec![self.field()?])));
        }
        if self.eat('(') {
            let inner = self.list()?;
            return self.eat(')').then_some((name, inner));
        }
        Some((name, Mask::All))
    }

    fn name(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let end = text
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '*')
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        self.rest = rest.trim_start();
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn eat(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter).map(str::trim_start);
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
            let parsed = Mask::parse(mask, "FileList").unwrap();
            assert_eq!(parsed.apply(list.clone()), expected, "{mask}");
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
            let failure = Mask::parse(mask, "FileList").unwrap_err();
            assert_eq!(
                (failure.status, failure.reason.as_str()),
                (400, "invalid"),
                "{mask}"
            );
        }
    }
}
