//! Requests to `/ns/{namespace}/…`, the form of the API that newer clients call. A namespace is a
//! container tag, and the id of a document is the caller's own if there is one.

mod items;

use axum::extract::FromRequestParts;
use domain::{ContainerTag, CustomId, DocumentId, Error, Result};
use http::request::Parts;
use service::ContainerScope;

use crate::error::ApiError;
use crate::extract::query_pairs;
use crate::scope_names::check_field_name;

pub use items::{
    CreatedAt, ItemPage, NamespaceChunk, NamespaceMemory, NoItem, RelatedMemories, RelatedMemory,
    SourceDocument, TimesOfItem,
};

/// Parses the namespace of a path.
///
/// # Errors
/// [`Error::Invalid`] about `namespace`.
pub fn parse_namespace(text: &str) -> Result<ContainerTag> {
    ContainerTag::parse(text)
        .map_err(|error| rename_fields(error, &[("containerTag", "namespace")]))
}

/// Returns an error about fields under the names that the request has for them. `names` has pairs of
/// the name in the error and the one in the request.
pub fn rename_fields(error: Error, names: &[(&str, &str)]) -> Error {
    let Error::Invalid {
        mut message,
        mut issues,
    } = error
    else {
        return error;
    };

    for (from, to) in names {
        if let Some(rest) = message.strip_prefix(from)
            && rest.starts_with([':', '.', '['])
        {
            message = format!("{to}{rest}");
            break;
        }
    }
    for issue in &mut issues {
        if let Some(field) = issue.path.first_mut()
            && let Some((_, to)) = names.iter().find(|(from, _)| from == field)
        {
            *field = (*to).to_owned();
        }
    }
    Error::Invalid { message, issues }
}

/// Returns the scope of a request to this namespace.
///
/// # Errors
/// Those of [`parse_namespace`].
pub fn namespace_scope(text: &str) -> Result<ContainerScope> {
    Ok(ContainerScope {
        tags: vec![parse_namespace(text)?],
    })
}

/// Returns the id of a document in these answers: the caller's own, or else the document's.
pub fn public_id(id: &DocumentId, custom_id: Option<&CustomId>) -> String {
    match custom_id {
        Some(custom_id) => custom_id.to_string(),
        None => id.to_string(),
    }
}

/// The names in the query parameter `include`. It may be repeated, and each value may have several
/// names with commas between them. Parameters that look like a scope are refused.
#[derive(Debug, Default)]
pub struct IncludeQuery(Vec<String>);

impl IncludeQuery {
    /// Checks whether a name is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|included| included == name)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IncludeQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut names = Vec::new();
        for (name, value) in query_pairs(&parts.uri) {
            check_field_name(&name, &[])?;
            if name == "include" {
                names.extend(value.split(',').map(|name| name.trim().to_owned()));
            }
        }
        Ok(Self(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_fields_of_the_request() {
        let error = parse_namespace("no spaces").unwrap_err();
        assert!(error.to_string().starts_with("namespace: "), "{error}");
        let Error::Invalid { issues, .. } = error else {
            panic!("another error");
        };
        assert_eq!(issues[0].path, ["namespace"]);

        let names = [("documentDate", "date")];
        let renamed = |field: &str| {
            let error = rename_fields(Error::invalid_field(field, "a day"), &names);
            error.to_string()
        };
        assert_eq!(renamed("documentDate"), "date: a day");
        assert_eq!(renamed("documentDates"), "documentDates: a day");
        assert_eq!(renamed("metadata"), "metadata: a day");
    }
}
