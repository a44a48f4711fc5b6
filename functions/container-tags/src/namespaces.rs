//! Namespaces themselves, `/ns` and `/ns/{namespace}`: container tags in the form of the API that
//! version 5 of the Python client calls.

pub(crate) mod buckets;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod one;

use domain::Container;
use edge::TimesOfItem;
use openapi::Operation;

/// The description of the namespace in a path.
const NAMESPACE: &str = "The namespace, which is a container tag.";
/// The group of these operations.
const GROUP: &str = "Namespaces";
/// The description of the answer about a missing namespace.
const NO_NAMESPACE: &str = "No document is in this namespace yet, or it was deleted.";
/// The description of the answer about a namespace that is being merged.
const MERGING: &str = "The namespace is being merged. Send the request again after the merge.";

/// Returns the times of a namespace.
fn times_of(container: &Container) -> TimesOfItem {
    TimesOfItem {
        created_at: container.created_at,
        updated_at: container.updated_at,
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    [
        list::operations(),
        one::operations(),
        delete::operations(),
        buckets::operations(),
    ]
    .concat()
}
