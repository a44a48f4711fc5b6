//! What callers say about container tags.

use crate::container::{Container, ContainerChange};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::ids::ContainerId;
use crate::patch::Patch;
use crate::settings::Bucket;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;

/// The most characters of a name. Contract.
const MAX_NAME: usize = 100;
/// The most characters of guidance. Contract.
const MAX_CONTEXT: usize = 1500;
/// The most folders. They lie in the item of the tag, which every request about it reads.
const MAX_PATHS: usize = 100;
/// The most bytes of all folders together.
const MAX_PATH_BYTES: usize = 32 * 1024;

/// Changes what the caller says about a container tag, which is made if there is none: one write, which may be
/// repeated.
///
/// # Errors
/// [`Error::Forbidden`] out of reach, [`Error::Invalid`] naming the field, and those of the ports.
pub async fn change_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    change: &ContainerChange,
) -> Result<Container> {
    tenant.check_reach(tag)?;
    check(change)?;
    Ok(ctx.containers.describe(tenant, tag, change, ContainerId::random(), ctx.clock.now()).await?)
}

fn check(change: &ContainerChange) -> Result<()> {
    if let Patch::Set(name) = &change.name
        && (name.trim().is_empty() || name.chars().count() > MAX_NAME)
    {
        return Err(Error::invalid_field("name", format!("1 to {MAX_NAME} characters")));
    }
    if let Patch::Set(context) = &change.entity_context
        && context.chars().count() > MAX_CONTEXT
    {
        return Err(Error::invalid_field("entityContext", format!("at most {MAX_CONTEXT} characters")));
    }
    if let Patch::Set(buckets) = &change.profile_buckets {
        Bucket::check_all("profileBuckets", buckets)?;
    }
    if let Patch::Set(paths) = &change.memory_paths {
        let bytes: usize = paths.iter().map(String::len).sum();
        let fits = paths.len() <= MAX_PATHS && bytes <= MAX_PATH_BYTES;
        if !fits || paths.iter().any(|path| path.trim().is_empty()) {
            let rule =
                format!("at most {MAX_PATHS} paths of {} KB together, none empty", MAX_PATH_BYTES / 1024);
            return Err(Error::invalid_field("memoryFilesystemPaths", rule));
        }
    }
    Ok(())
}
