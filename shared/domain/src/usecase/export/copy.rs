//! The shapes that an export writes down.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::container::Container;
use crate::document::{BodyForm, DocumentType, Dreaming, Failure, Status, TaskType};
use crate::error::{Error, Result};
use crate::ids::{ContainerId, CustomId, DocumentId};
use crate::memory::Statement;
use crate::metadata::Metadata;
use crate::pack::Pack;
use crate::provenance::{Authorship, Provenance};
use crate::settings::Bucket;
use crate::time::Timestamp;

/// A container tag and what its caller says about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerCopy {
    /// Its physical containers. The ids of memories are made of them.
    pub container_ids: Vec<ContainerId>,
    /// When the tag was first used.
    pub created_at: Timestamp,
    /// When the caller last changed something here.
    pub updated_at: Timestamp,
    /// The caller's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the caller says that its content is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_context: Option<String>,
    /// Topics that its profile is sorted into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile_buckets: Vec<Bucket>,
    /// The folders of which memories are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_paths: Option<Vec<String>>,
}

impl From<&Container> for ContainerCopy {
    fn from(container: &Container) -> Self {
        Self {
            container_ids: container.ids.clone(),
            created_at: container.created_at,
            updated_at: container.updated_at,
            name: container.name.clone(),
            entity_context: container.entity_context.clone(),
            profile_buckets: container.profile_buckets.clone(),
            memory_paths: container.memory_paths.clone(),
        }
    }
}

/// A document with everything that was made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentCopy {
    /// Identity. Derived anew where there is a customId, because the organization is part of it.
    pub id: DocumentId,
    /// The physical container it lives in.
    pub container_id: ContainerId,
    /// The caller's own identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<CustomId>,
    /// Where its newest content stands.
    pub status: Status,
    /// Why that failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Counts accepted contents from 1.
    pub revision_number: u64,
    /// First acceptance.
    pub created_at: Timestamp,
    /// Last change of anything a caller can see.
    pub updated_at: Timestamp,
    /// When search took it over as it shows it now, where that is known not to be `updated_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<Timestamp>,
    /// Best knowledge of the kind.
    pub kind: DocumentType,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What else the content says about itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// The address that the content is fetched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The caller's metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The caller's path for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filepath: Option<String>,
    /// The metadata that other documents must have for their memories to be considered beside this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_by_metadata: Option<Map<String, Value>>,
    /// Chunks only, or memories as well.
    #[serde(default)]
    pub task_type: TaskType,
    /// When its memories are to form.
    #[serde(default)]
    pub dreaming: Dreaming,
    /// When the content is from, if the caller said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<Timestamp>,
    /// Whose words the content is, if the caller said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The newest bytes; none while a file that was announced has not arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyCopy>,
    /// What search serves of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedCopy>,
}

impl DocumentCopy {
    /// Refuses a copy that cannot be imported, as somebody may have changed it by hand.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the field.
    pub fn check(&self) -> Result<()> {
        if DocumentId::parse(self.id.as_str()).is_none() {
            return Err(Error::invalid_field(
                "id",
                "this is not the id of a document",
            ));
        }
        if let Some(custom_id) = &self.custom_id {
            CustomId::parse_conversation(custom_id.as_str())?;
        }
        self.metadata()?;
        self.body.as_ref().map(BodyCopy::bytes).transpose()?;
        Ok(())
    }

    /// The metadata, and what other documents must have.
    pub(crate) fn metadata(&self) -> Result<(Metadata, Option<Metadata>)> {
        let filter = self.filter_by_metadata.clone();
        let filter = filter
            .map(|filter| Metadata::parse_field("filterByMetadata", filter))
            .transpose()?;
        Ok((Metadata::parse(self.metadata.clone())?, filter))
    }
}

/// A document's bytes: as text where they are UTF-8, else in base64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BodyCopy {
    /// How they are to be read.
    pub form: BodyForm,
    /// The bytes as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl BodyCopy {
    /// The copy of bytes.
    pub fn new(form: BodyForm, bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self {
                form,
                text: Some(text.to_owned()),
                base64: None,
            },
            Err(_) => Self {
                form,
                text: None,
                base64: Some(STANDARD.encode(bytes)),
            },
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when they are neither text nor base64.
    pub fn bytes(&self) -> Result<Bytes> {
        match (&self.text, &self.base64) {
            (Some(text), _) => Ok(text.clone().into()),
            (None, Some(coded)) => match STANDARD.decode(coded) {
                Ok(bytes) => Ok(bytes.into()),
                Err(_) => Err(Error::invalid_field("body.base64", "this is not base64")),
            },
            (None, None) => Err(Error::invalid_field(
                "body",
                "has neither `text` nor `base64`",
            )),
        }
    }
}

/// What search serves of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedCopy {
    /// Whether it was made of the newest bytes.
    pub is_current: bool,
    /// The kind of that content.
    pub kind: DocumentType,
    /// The title of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Canonical text, chunks and vectors.
    pub pack: Pack,
    /// What was learned from that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedCopy>,
    /// Whose words that content is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
}

/// What was learned from a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedCopy {
    /// Which extractor found the statements.
    pub extractor: String,
    /// Why the built-in extractor had to do what a model was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// What it states, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
}
