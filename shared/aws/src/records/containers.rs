//! The records of container tags: the tags, their number, and the owners of containers.

use domain::ports::PortResult;
use domain::{
    Container, ContainerId, ContainerOwner, ContainerTag, MergeRole, PortError, ProfileBucket,
    Tenant, Timestamp,
};

use super::{Item, Json, Millis, read_record, read_sort_key, record_item};
use crate::table_keys;

record! {
    /// A container tag. The tag is in the key.
    struct TagRecord, TagAttributes {
        /// The physical containers.
        #[serde(rename = "ids")]
        container_ids: Json<Vec<ContainerId>>,
        #[serde(rename = "cr")]
        created_at: Millis,
        /// A tag whose settings were never changed has none.
        #[serde(rename = "up")]
        updated_at: Option<Millis>,
        #[serde(rename = "nm")]
        name: Option<String>,
        #[serde(rename = "ectx")]
        entity_context: Option<String>,
        #[serde(rename = "pb")]
        profile_buckets: Option<Json<Vec<ProfileBucket>>>,
        #[serde(rename = "mp")]
        memory_paths: Option<Json<Vec<String>>>,
        #[serde(rename = "mg")]
        merge: Option<Json<MergeRole>>,
    }
}

record! {
    /// The number of tags of an organization.
    struct TagCountRecord, TagCountAttributes {
        #[serde(rename = "tags")]
        count: u64,
    }
}

record! {
    /// The owner of a physical container that no longer belongs to the tag it was made for.
    struct OwnerRecord, OwnerAttributes {
        /// The tag to which the container belongs since a merge.
        #[serde(rename = "tag")]
        tag: Option<String>,
        /// The tags that share the container, if there are several.
        #[serde(rename = "tags")]
        tags: Option<Json<Vec<ContainerTag>>>,
        /// 1 if the container is deleted.
        #[serde(rename = "gone")]
        deleted: Option<u8>,
    }
}

/// Returns the item of a new tag, which has no settings.
pub(crate) fn new_tag_item(
    tenant: &Tenant,
    tag: &ContainerTag,
    ids: &[ContainerId],
    created_at: Timestamp,
) -> PortResult<Item> {
    let record = TagRecord {
        container_ids: Json::encode(ids)?,
        created_at: created_at.into(),
        updated_at: None,
        name: None,
        entity_context: None,
        profile_buckets: None,
        memory_paths: None,
        merge: None,
    };
    record_item(&table_keys::tag_key(tenant, tag), &record)
}

/// Returns the item that says to which tags a physical container belongs now, or without tags, that
/// it is deleted.
pub(crate) fn owner_item(
    tenant: &Tenant,
    id: &ContainerId,
    tags: &[ContainerTag],
) -> PortResult<Item> {
    let record = match tags {
        [] => OwnerRecord {
            tag: None,
            tags: None,
            deleted: Some(1),
        },
        [tag] => OwnerRecord {
            tag: Some(tag.as_str().to_owned()),
            tags: None,
            deleted: None,
        },
        tags => OwnerRecord {
            tag: None,
            tags: Some(Json::encode(tags)?),
            deleted: None,
        },
    };
    record_item(&table_keys::owner_key(tenant, id), &record)
}

/// Reads a container tag from its item.
pub(crate) fn read_container(item: Item) -> PortResult<Container> {
    let corrupt = || PortError::Corrupt("container".into());
    let Some(tag) = read_sort_key(&item)?.strip_prefix(table_keys::TAG_PREFIX) else {
        return Err(corrupt());
    };
    let Ok(tag) = ContainerTag::parse(tag) else {
        return Err(corrupt());
    };
    let record: TagRecord = read_record(item)?;

    let ids = record.container_ids.decode()?;
    if ids.is_empty() {
        return Err(corrupt());
    }

    Ok(Container {
        tag,
        ids,
        created_at: record.created_at.into(),
        updated_at: Timestamp::from(record.updated_at.unwrap_or(record.created_at)),
        name: record.name,
        entity_context: record.entity_context,
        profile_buckets: Json::decode_option(record.profile_buckets)?.unwrap_or_default(),
        memory_paths: Json::decode_option(record.memory_paths)?,
        merge: Json::decode_option(record.merge)?,
    })
}

/// Reads the owner of a container from its item.
pub(crate) fn read_owner(item: Item) -> PortResult<ContainerOwner> {
    let record: OwnerRecord = read_record(item)?;
    if let Some(tags) = Json::decode_option(record.tags)? {
        return Ok(ContainerOwner::Tags(tags));
    }
    match (
        record.tag.as_deref().map(ContainerTag::parse),
        record.deleted,
    ) {
        (Some(Ok(tag)), _) => Ok(ContainerOwner::Tags(vec![tag])),
        (None, Some(_)) => Ok(ContainerOwner::Deleted),
        _ => Err(PortError::Corrupt("a container's owner".into())),
    }
}
