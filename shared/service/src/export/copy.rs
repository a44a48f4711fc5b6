//! The shapes in which an export writes a container.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Ctx;
use crate::sharing::find_shared_containers;
use domain::container::{Container, SharedContainer};
use domain::document::{
    BodyForm, DocumentStatus, DocumentType, Dreaming, ProcessingFailure, TaskType,
};
use domain::error::{Error, Result};
use domain::ids::{ContainerId, CustomId, DocumentId};
use domain::memory::Statement;
use domain::metadata::Metadata;
use domain::pack::Pack;
use domain::provenance::{Authorship, Provenance};
use domain::settings::ProfileBucket;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// A container tag with its description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerCopy {
    /// The physical containers. The ids of memories are derived from their ids.
    pub container_ids: Vec<ContainerId>,
    /// Those of the physical containers that other tags read from as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedContainerCopy>,
    /// The time at which the tag was first used.
    pub created_at: Timestamp,
    /// The time of the caller's last change of the tag.
    pub updated_at: Timestamp,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The caller's description of what the content is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_context: Option<String>,
    /// The topics into which the profile is sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile_buckets: Vec<ProfileBucket>,
    /// The folders whose documents yield memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_paths: Option<Vec<String>>,
}

impl ContainerCopy {
    /// Returns the tags of a physical container, in their order, if there are several.
    pub(crate) fn tags_of(&self, id: &ContainerId) -> Option<&[ContainerTag]> {
        let shared = self
            .shared
            .iter()
            .find(|shared| shared.container_id == *id)?;
        Some(&shared.container_tags)
    }
}

/// A physical container that several tags read from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedContainerCopy {
    /// The id.
    pub container_id: ContainerId,
    /// The tags, in their order.
    pub container_tags: Vec<ContainerTag>,
}

/// Returns the copy of a container tag.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn copy_container(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
) -> Result<ContainerCopy> {
    let mut shared = Vec::new();
    for SharedContainer { id, tags } in
        find_shared_containers(ctx, tenant, std::slice::from_ref(container)).await?
    {
        shared.push(SharedContainerCopy {
            container_id: id,
            container_tags: tags,
        });
    }

    Ok(ContainerCopy {
        shared,
        ..ContainerCopy::from(container)
    })
}

impl From<&Container> for ContainerCopy {
    fn from(container: &Container) -> Self {
        Self {
            container_ids: container.ids.clone(),
            shared: Vec::new(),
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
    /// The id. If the document has a customId, an import derives the id again, because the
    /// organization is part of it, unless [`Self::keeps_id`] is set.
    pub id: DocumentId,
    /// Set if the document got its customId later, so that its id is not derived from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_id: bool,
    /// The physical container of the document.
    pub container_id: ContainerId,
    /// The client's own id of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<CustomId>,
    /// The processing status of the newest content.
    pub status: DocumentStatus,
    /// The failure, if processing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ProcessingFailure>,
    /// The number of accepted contents, from 1.
    pub revision_number: u64,
    /// The time at which the document was first accepted.
    pub created_at: Timestamp,
    /// The time of the last change that a caller can see.
    pub updated_at: Timestamp,
    /// The time at which search took over the document as it serves it now, if that is known to
    /// differ from `updated_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<Timestamp>,
    /// The type of the document, as far as it is known.
    pub kind: DocumentType,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Other properties that the content states about itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// The address from which the content is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The caller's metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The caller's path of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filepath: Option<String>,
    /// The metadata that other documents must have for their memories to be considered together
    /// with this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_by_metadata: Option<Map<String, Value>>,
    /// Selects chunks only, or memories as well.
    #[serde(default)]
    pub task_type: TaskType,
    /// Selects when the memories are formed.
    #[serde(default)]
    pub dreaming: Dreaming,
    /// The date of the content, if the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<Timestamp>,
    /// The source of the words of the content, if the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The newest bytes; `None` while an announced file has not arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyCopy>,
    /// The content that search serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedCopy>,
}

impl DocumentCopy {
    /// Refuses a copy that cannot be imported, for instance because somebody has edited it by hand.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] naming the field.
    pub fn check_importable(&self) -> Result<()> {
        if DocumentId::parse(self.id.as_str()).is_none() {
            return Err(Error::invalid_field(
                "id",
                "this is not the id of a document",
            ));
        }
        if let Some(custom_id) = &self.custom_id {
            CustomId::parse_conversation_id(custom_id.as_str())?;
        }
        self.metadata()?;
        self.body.as_ref().map(BodyCopy::decode_bytes).transpose()?;
        Ok(())
    }

    /// Returns the metadata, and the metadata that other documents must have.
    pub(crate) fn metadata(&self) -> Result<(Metadata, Option<Metadata>)> {
        let filter = self.filter_by_metadata.clone();
        let filter = filter
            .map(|filter| Metadata::parse_field("filterByMetadata", filter))
            .transpose()?;
        Ok((Metadata::parse(self.metadata.clone())?, filter))
    }
}

/// The bytes of a document: as text if they are UTF-8, otherwise in base64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BodyCopy {
    /// The form in which the bytes are to be read.
    pub form: BodyForm,
    /// The bytes as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl BodyCopy {
    /// Creates the copy of some bytes.
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

    /// Returns the bytes.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] when the copy has neither text nor valid base64.
    pub fn decode_bytes(&self) -> Result<Bytes> {
        match (&self.text, &self.base64) {
            (Some(text), _) => Ok(text.clone().into()),
            (None, Some(encoded)) => match STANDARD.decode(encoded) {
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

/// The content of a document that search serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedCopy {
    /// `true` if it was made from the newest bytes.
    pub is_current: bool,
    /// The type of that content.
    pub kind: DocumentType,
    /// The title of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The canonical text, chunks and vectors.
    pub pack: Pack,
    /// The statements found in that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<StatementsCopy>,
    /// The authorship of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// The summary of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The statements found in a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatementsCopy {
    /// The name of the extractor that found the statements.
    pub extractor: String,
    /// The reason why the built-in extractor replaced a model that was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
    /// The statements, in the order of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
}
