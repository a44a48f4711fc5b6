//! The leases that this process holds on documents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{Document, DocumentId, Tenant, Timestamp};

/// The documents that this process has under a lease, as they were when it took the lease.
#[derive(Default)]
pub(crate) struct HeldLeases {
    documents: Mutex<Vec<(Tenant, Document)>>,
}

impl HeldLeases {
    /// Remembers the lease on a document until the result is dropped.
    pub(crate) fn hold(&self, tenant: &Tenant, document: &Document) -> HeldLease<'_> {
        self.lock().push((tenant.clone(), document.clone()));
        HeldLease {
            leases: self,
            id: document.id.clone(),
            until: document.lease_until,
        }
    }

    /// Returns the documents under a lease.
    pub(crate) fn list(&self) -> Vec<(Tenant, Document)> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Tenant, Document)>> {
        self.documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease on a document.
pub(crate) struct HeldLease<'a> {
    leases: &'a HeldLeases,
    id: DocumentId,
    until: Timestamp,
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        let mut documents = self.leases.lock();
        documents.retain(|(_, held)| held.id != self.id || held.lease_until != self.until);
    }
}
