//! The memories of a namespace: `/ns/{namespace}/list/memories` and `/ns/{namespace}/memories*`,
//! the form of the API that version 5 of the Python client calls.

pub(crate) mod forget;
pub(crate) mod list;
pub(crate) mod one;

use openapi::Operation;

/// The description of the namespace in a path.
const NAMESPACE: &str = "The namespace, which is a container tag.";
/// The group of these operations.
const GROUP: &str = "Namespaces";

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    [list::operations(), one::operations(), forget::operations()].concat()
}
