//! The buckets of containers: those of a profile, and changes of a container's own.

use crate::ConflictRetry;
use crate::Ctx;
use crate::find::{ContainerScope, find_containers, find_writable_container};
use domain::error::{Error, Result};
use domain::settings::{ProfileBucket, Settings};
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// Returns the buckets of a profile: those of the organization, followed by those that the
/// container adds. A tag that does not exist adds none.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn list_buckets(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Vec<ProfileBucket>> {
    let scope = ContainerScope {
        tags: vec![tag.clone()],
    };
    let container = find_containers(ctx, tenant, &scope).await?.pop();
    let own_buckets = container.map_or_else(Vec::new, |container| container.profile_buckets);
    let settings = ctx.settings.get(tenant).await?;
    Ok(settings.merge_buckets(&own_buckets))
}

/// Adds buckets to a container's own, and replaces the descriptions of those that it has. Buckets
/// of the organization cannot be changed here; one that is sent as it is has no effect. Returns the
/// buckets of the profile.
///
/// # Errors
/// Returns [`Error::Invalid`] about `buckets`, [`Error::Conflict`] for a bucket of the organization
/// with another description and while the container is merged, [`Error::NotFound`] for a tag that
/// does not exist, [`Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn set_buckets(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    buckets: &[ProfileBucket],
) -> Result<Vec<ProfileBucket>> {
    ProfileBucket::check_buckets("buckets", buckets)?;
    change_buckets(ctx, tenant, tag, |own_buckets, settings| {
        let organization_buckets = settings.merge_buckets(&[]);
        for bucket in buckets {
            let existing = organization_buckets
                .iter()
                .find(|existing| existing.key == bucket.key);
            match existing {
                Some(existing) if existing == bucket => {}
                Some(_) => return Err(organization_bucket_error(&bucket.key)),
                None => set_bucket(own_buckets, bucket),
            }
        }
        ProfileBucket::check_buckets("buckets", own_buckets)
    })
    .await
}

fn organization_bucket_error(key: &str) -> Error {
    Error::Conflict(format!(
        "the bucket {key} belongs to the organization: its description can only be changed in the \
         settings of the organization"
    ))
}

fn set_bucket(own_buckets: &mut Vec<ProfileBucket>, bucket: &ProfileBucket) {
    match own_buckets.iter_mut().find(|own| own.key == bucket.key) {
        Some(own) => own.description.clone_from(&bucket.description),
        None => own_buckets.push(bucket.clone()),
    }
}

/// Removes the buckets with these keys from a container's own. Keys that it does not have, such as
/// those of the organization, are ignored. Returns the buckets of the profile.
///
/// # Errors
/// Returns [`Error::Conflict`] while the container is merged, [`Error::NotFound`] for a tag that
/// does not exist, [`Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn remove_buckets(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    keys: &[String],
) -> Result<Vec<ProfileBucket>> {
    change_buckets(ctx, tenant, tag, |own_buckets, _| {
        own_buckets.retain(|bucket| !keys.contains(&bucket.key));
        Ok(())
    })
    .await
}

/// Changes a container's own buckets by `change`, which runs again when another writer was first.
/// The write is conditional on the buckets that were read, so no change is lost, and repeating it
/// changes nothing. Returns the buckets of the profile.
async fn change_buckets(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    change: impl Fn(&mut Vec<ProfileBucket>, &Settings) -> Result<()> + Send,
) -> Result<Vec<ProfileBucket>> {
    let settings = ctx.settings.get(tenant).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let container = find_writable_container(ctx, tenant, tag).await?;
        let mut buckets = container.profile_buckets.clone();
        change(&mut buckets, &settings)?;
        if buckets == container.profile_buckets {
            return Ok(settings.merge_buckets(&buckets));
        }

        let is_replaced = ctx
            .containers
            .replace_buckets(
                tenant,
                tag,
                &container.profile_buckets,
                &buckets,
                ctx.clock.now(),
            )
            .await?;
        if is_replaced {
            return Ok(settings.merge_buckets(&buckets));
        }

        retry.wait().await?;
    }
}
