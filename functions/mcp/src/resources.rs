//! The resources: the list of containers, and the profile of each.

use api_client::ApiClient;
use percent_encoding::percent_decode_str;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use crate::arguments::path_segment;
use crate::bounds::{offset_cursor, parse_offset};
use crate::failure::ToolFailure;
use crate::prompts::load_profile;
use crate::tools::find_containers;

const CONTAINERS: &str = "recollect://containers";
const PROFILE_SUFFIX: &str = "/profile";
const MARKDOWN: &str = "text/markdown";
/// The profiles on one page of the list.
const PAGE_LENGTH: usize = 50;
/// The most containers that the resource shows. The tool `list_containers` shows the others.
const MAX_CONTAINERS: usize = 500;

/// Returns a page of the resources: the list of containers, then the profile of each.
pub(crate) async fn list_resources(
    api: &ApiClient,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let page = list_page(api, cursor).await;
    page.map_err(ToolFailure::into_protocol_error)
}

async fn list_page(
    api: &ApiClient,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ToolFailure> {
    let offset = parse_offset(cursor)?;
    let containers = find_containers(api).await?;
    let total = containers.len();
    let end = offset.saturating_add(PAGE_LENGTH);

    let mut resources = Vec::new();
    if offset == 0 {
        let list = Resource::new(CONTAINERS, "containers")
            .with_title("Containers")
            .with_description("The containers that the API key reaches.")
            .with_mime_type(MARKDOWN);
        resources.push(list);
    }
    for container in containers.into_iter().skip(offset).take(PAGE_LENGTH) {
        let label = container.name.as_ref().unwrap_or(&container.tag);
        let title = format!("Profile of {label}");
        let resource = Resource::new(profile_uri(&container.tag), title.clone())
            .with_title(title)
            .with_description("Instructions, preferences, facts and recent events.")
            .with_mime_type(MARKDOWN);
        resources.push(resource);
    }

    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = (total > end).then(|| offset_cursor(end));
    Ok(result)
}

/// Returns the templates of resources.
pub(crate) fn define_templates() -> Vec<ResourceTemplate> {
    let uri = format!("{CONTAINERS}/{{tag}}{PROFILE_SUFFIX}");
    let profile = ResourceTemplate::new(uri, "profile")
        .with_title("Profile of a container")
        .with_description(
            "What is known about a user or a project: instructions, preferences, facts and recent \
             events.",
        )
        .with_mime_type(MARKDOWN);
    vec![profile]
}

/// Returns the content of a resource.
///
/// # Errors
/// An error of the protocol if there is no such resource, or if the API refuses the request.
pub(crate) async fn read_resource(
    api: &ApiClient,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let text = if uri == CONTAINERS {
        list_as_text(api).await
    } else {
        let Some(tag) = tag_of_profile(uri) else {
            let message = "There is no resource with this URI. They are recollect://containers and \
                recollect://containers/{tag}/profile.";
            return Err(ErrorData::resource_not_found(message, None));
        };
        load_profile(api, &tag, None).await
    };

    let text = text.map_err(ToolFailure::into_protocol_error)?;
    let contents = ResourceContents::text(text, uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn list_as_text(api: &ApiClient) -> Result<String, ToolFailure> {
    let containers = find_containers(api).await?;
    let mut text = format!("# {} containers\n\n", containers.len());
    for container in containers.iter().take(MAX_CONTAINERS) {
        text.push_str(&container.to_line());
    }
    Ok(text)
}

fn profile_uri(tag: &str) -> String {
    format!("{CONTAINERS}/{}{PROFILE_SUFFIX}", path_segment(tag))
}

/// Returns the container whose profile a URI names.
fn tag_of_profile(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(CONTAINERS)?.strip_prefix('/')?;
    let segment = rest.strip_suffix(PROFILE_SUFFIX)?;
    if segment.is_empty() || segment.contains('/') {
        return None;
    }
    let tag = percent_decode_str(segment).decode_utf8().ok()?;
    Some(tag.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_the_container_it_was_made_for() {
        for tag in ["user_42", "a:b.c-d"] {
            assert_eq!(tag_of_profile(&profile_uri(tag)).as_deref(), Some(tag));
        }
        for uri in [
            "recollect://containers",
            "recollect://containers//profile",
            "recollect://containers/a/b/profile",
            "recollect://containers/a",
            "file:///etc/hosts",
        ] {
            assert_eq!(tag_of_profile(uri), None, "{uri}");
        }
    }
}
