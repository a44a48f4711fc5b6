//! The names that answers have for the cloud drive.

use std::borrow::Cow;
use std::str::FromStr;

use domain::connection::Provider;
use domain::{DocumentType, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// The names that answers have for the cloud drive and for the types of its documents. Requests
/// take the names of both variants, and stored data has those of this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderNames {
    /// The names of this service, such as `cloud-drive` and `cloud_doc`.
    #[default]
    Cloud,
    /// The names of the vendor, such as `google-drive` and `google_doc`.
    Google,
}

impl ProviderNames {
    /// Both variants.
    const ALL: [Self; 2] = [Self::Cloud, Self::Google];

    /// Returns the name of a provider.
    pub const fn of_provider(self, provider: Provider) -> ProviderName {
        ProviderName(match (self, provider) {
            (Self::Google, Provider::CloudDrive) => "google-drive",
            _ => provider.as_str(),
        })
    }

    /// Returns the name of a type of documents.
    pub const fn of_type(self, kind: DocumentType) -> TypeName {
        TypeName(match (self, kind) {
            (Self::Google, DocumentType::CloudDoc) => "google_doc",
            (Self::Google, DocumentType::CloudSheet) => "google_sheet",
            (Self::Google, DocumentType::CloudSlide) => "google_slide",
            _ => kind.as_str(),
        })
    }
}

impl FromStr for ProviderNames {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim() {
            "cloud" => Ok(Self::Cloud),
            "google" => Ok(Self::Google),
            _ => Err(Error::invalid("the names of providers are cloud or google")),
        }
    }
}

/// The name of a provider in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProviderName(&'static str);

impl ProviderName {
    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl JsonSchema for ProviderName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProviderName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = |names: ProviderNames, provider| names.of_provider(provider).as_str();
        json_schema!({"type": "string", "enum": all_names(&Provider::ALL, name)})
    }
}

/// The name of a type of documents on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TypeName(&'static str);

impl JsonSchema for TypeName {
    fn schema_name() -> Cow<'static, str> {
        "DocumentTypeName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = |names: ProviderNames, kind| names.of_type(kind).0;
        json_schema!({
            "description": "The type of a document's content. The deployment chooses between the \
                            names of this service and those of the vendor for the types of a \
                            drive.",
            "type": "string",
            "enum": all_names(&DocumentType::ALL, name),
        })
    }
}

/// Returns the names of all values in both variants, each once.
fn all_names<T: Copy>(
    values: &[T],
    name: impl Fn(ProviderNames, T) -> &'static str,
) -> Vec<&'static str> {
    let mut all = Vec::new();
    for names in ProviderNames::ALL {
        for value in values {
            let name = name(names, *value);
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_take_every_name_of_answers() {
        for (text, names) in [
            ("cloud", ProviderNames::Cloud),
            ("google", ProviderNames::Google),
        ] {
            assert_eq!(text.parse::<ProviderNames>().ok(), Some(names));
            for provider in Provider::ALL {
                let name = names.of_provider(provider).as_str();
                assert_eq!(Provider::parse(name), Some(provider), "{name}");
            }
            for kind in DocumentType::ALL {
                let name = names.of_type(kind).0;
                assert_eq!(DocumentType::parse(name), Some(kind), "{name}");
                let drive_type = DocumentType::parse_drive_type(name);
                assert!(drive_type.is_none_or(|parsed| parsed == kind), "{name}");
                assert_eq!(drive_type.is_some(), name.contains('_'), "{name}");
            }
        }
        assert!("Google".parse::<ProviderNames>().is_err());
    }

    #[test]
    fn schemas_have_the_names_of_both_variants() {
        let mut generator = SchemaGenerator::default();
        let schema = ProviderName::json_schema(&mut generator).to_value();
        let names = ["cloud-drive", "web-crawler", "google-drive"];
        assert_eq!(schema["enum"], serde_json::json!(names));
        let schema = TypeName::json_schema(&mut generator).to_value();
        assert_eq!(schema["enum"].as_array().map(Vec::len), Some(12));
    }
}
