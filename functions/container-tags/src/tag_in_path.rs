//! The container tag that a path names.

use axum::extract::{FromRequestParts, MatchedPath};
use edge::{ApiError, Path};
use http::request::Parts;

/// The last part of a path, which is not checked yet.
///
/// A tag can have the name of a route beside `/v3/container-tags/{tag}`, such as `list`. That route has
/// no parameter, and its own last part is the tag.
#[derive(Debug)]
pub(crate) struct TagInPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for TagInPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let route = parts.extensions.get::<MatchedPath>();
        if let Some(word) = route.and_then(|route| fixed_last_part(route.as_str())) {
            return Ok(Self(word.to_owned()));
        }

        let Path(tag) = Path::from_request_parts(parts, state).await?;
        Ok(Self(tag))
    }
}

/// Returns the last part of a route, unless it is a parameter.
fn fixed_last_part(route: &str) -> Option<&str> {
    let (_, last) = route.rsplit_once('/')?;
    (!last.starts_with('{')).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_route_without_a_parameter_at_its_end_names_a_tag() {
        assert_eq!(fixed_last_part("/v3/container-tags/list"), Some("list"));
        assert_eq!(fixed_last_part("/v3/container-tags/{tag}"), None);
    }
}
