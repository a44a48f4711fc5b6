//! Search, profile and chunks of a namespace: `/ns/{namespace}/search`, `/ns/{namespace}/profile`
//! and `/ns/{namespace}/list/chunks`, the form of the API that version 5 of the Python client calls.

pub(crate) mod chunks;
pub(crate) mod profile;
pub(crate) mod results;
pub(crate) mod search;

use openapi::Operation;

/// The description of the namespace in a path.
const NAMESPACE: &str = "The namespace, which is a container tag.";
/// The group of these operations.
const GROUP: &str = "Namespaces";

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    [
        search::operations(),
        profile::operations(),
        chunks::operations(),
    ]
    .concat()
}
