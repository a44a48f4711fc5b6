//! A store of documents in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::connection::{DocumentClaim, Grant, OAuthTokens};
use domain::ports::{
    Clock, Connections, Connector, ConnectorError, ConnectorResult, ProviderAccess, SyncStore,
};
use domain::settings::Settings;
use domain::{
    BodyForm, Connection, ConnectionId, ContainerId, ContainerTag, CustomId, DocumentId, Error,
    Result, Secret, Tenant, Timestamp,
};
use service::ItemDocument;

use super::memory::MemoryStore;
use crate::sync_service::SyncService;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FakeDocument {
    pub(super) content: String,
    pub(super) content_version: String,
    pub(super) title: String,
    pub(super) path: String,
    pub(super) claims: BTreeSet<DocumentClaim>,
    /// The connection that last made or adopted it.
    pub(super) by: ConnectionId,
}

/// The interruption of a worker after the service has done its request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interruption {
    /// The process dies.
    Crash,
    /// Only the answer of the service is lost.
    LostAnswer,
}

/// An implementation of the service, as far as the engine needs it.
pub(super) struct FakeService {
    pub(super) memory: MemoryStore,
    pub(super) docs: Mutex<BTreeMap<String, FakeDocument>>,
    pub(super) now: Mutex<Timestamp>,
    pub(super) settings: Mutex<Settings>,
    /// The errors for the next requests for access.
    pub(super) denied: Mutex<Vec<ConnectorError>>,
    /// The number of times that access was renewed.
    pub(super) renewed: Mutex<usize>,
    /// The name of the tokens of a new permission that a user gives while the next request in
    /// `denied` is in progress.
    pub(super) reconnected: Mutex<Option<String>>,
    pub(super) refused: Mutex<Vec<Error>>,
    /// The interruption after the next document is made, or after the next claim is released and
    /// before its document is removed.
    pub(super) interruption: Mutex<Option<Interruption>>,
    /// The names of the tokens that were forgotten.
    pub(super) forgotten_tokens: Mutex<Vec<String>>,
}

fn id_of(custom_id: &CustomId) -> DocumentId {
    let org = domain::OrgId::parse("acme").unwrap();
    let container = ContainerId::parse("1111111111111111111111").unwrap();
    DocumentId::in_container(&org, &container, custom_id)
}

impl FakeService {
    fn risk(&self) -> Result<()> {
        Ok(self.memory.maybe_crash()?)
    }

    fn interrupt(&self) -> Result<()> {
        match self.interruption.lock().unwrap().take() {
            None => Ok(()),
            Some(Interruption::Crash) => {
                self.memory.lock().dead = true;
                self.risk()
            }
            Some(Interruption::LostAnswer) => Err(Error::Unavailable("the answer is lost".into())),
        }
    }
}

#[async_trait]
impl Clock for FakeService {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    async fn sleep(&self, _: Duration) {}
}

#[async_trait]
impl SyncService for FakeService {
    fn clock(&self) -> &dyn Clock {
        self
    }

    fn connections(&self) -> &dyn Connections {
        &self.memory
    }

    fn sync(&self) -> &dyn SyncStore {
        &self.memory
    }

    async fn settings(&self, _: &Tenant) -> Result<Settings> {
        Ok(self.settings.lock().unwrap().clone())
    }

    async fn access_for(
        &self,
        _: &dyn Connector,
        _: &Tenant,
        _: &Connection,
    ) -> ConnectorResult<ProviderAccess> {
        let mut denied = self.denied.lock().unwrap();
        if !denied.is_empty() {
            if let Some(secret) = self.reconnected.lock().unwrap().take() {
                self.memory
                    .lock()
                    .grants
                    .values_mut()
                    .for_each(|grant| grant.secret.clone_from(&secret));
            }
            return Err(denied.remove(0));
        }

        Ok(ProviderAccess {
            token: None,
            metadata: domain::Metadata::default(),
        })
    }

    async fn renew_access(
        &self,
        connector: &dyn Connector,
        tenant: &Tenant,
        connection: &Connection,
    ) -> ConnectorResult<ProviderAccess> {
        *self.renewed.lock().unwrap() += 1;
        self.access_for(connector, tenant, connection).await
    }

    async fn grant_tokens(&self, _: &Tenant, grant: &Grant) -> Result<Option<OAuthTokens>> {
        let now = *self.now.lock().unwrap();
        Ok(Some(OAuthTokens {
            access: Secret::new(&grant.secret),
            access_until: now,
            refresh: Secret::new(&grant.secret),
            refresh_until: None,
        }))
    }

    async fn forget_tokens(&self, _: &Tenant, grant: &Grant) -> Result<()> {
        let mut forgotten = self.forgotten_tokens.lock().unwrap();
        forgotten.push(grant.secret.clone());
        Ok(())
    }

    async fn channel_token(&self, _: &Tenant, _: &ConnectionId, _: Timestamp) -> Result<Secret> {
        Ok(Secret::new("t"))
    }

    async fn document_id_of(
        &self,
        _: &Tenant,
        _: &ContainerTag,
        custom_id: &CustomId,
    ) -> Result<Option<DocumentId>> {
        Ok(Some(id_of(custom_id)))
    }

    async fn make_document(
        &self,
        _: &Tenant,
        item: ItemDocument,
        bytes: Bytes,
        _: BodyForm,
    ) -> Result<DocumentId> {
        self.risk()?;
        let refused = self.refused.lock().unwrap().pop();
        if let Some(refused) = refused {
            return Err(refused);
        }

        {
            let mut docs = self.docs.lock().unwrap();
            let id = id_of(&item.custom_id).to_string();
            let mut claims = docs.remove(&id).map(|doc| doc.claims).unwrap_or_default();
            claims.insert(item.claim);
            let content = String::from_utf8(bytes.to_vec()).unwrap();
            let (content_version, title, path) = (
                item.origin.content_version,
                item.origin.title,
                item.filepath,
            );
            docs.insert(
                id,
                FakeDocument {
                    content,
                    content_version,
                    title,
                    path,
                    claims,
                    by: item.origin.connection,
                },
            );
        }

        self.interrupt()?;
        self.risk()?;
        Ok(id_of(&item.custom_id))
    }

    async fn adopt_document(&self, _: &Tenant, item: &ItemDocument) -> Result<Option<DocumentId>> {
        self.risk()?;
        let id = id_of(&item.custom_id);
        let mut docs = self.docs.lock().unwrap();
        let Some(doc) = docs
            .get_mut(id.as_str())
            .filter(|doc| doc.content_version == item.origin.content_version)
        else {
            return Ok(None);
        };

        (doc.title, doc.path) = (item.origin.title.clone(), item.filepath.clone());
        doc.claims.insert(item.claim.clone());
        doc.by = item.origin.connection.clone();

        Ok(Some(id))
    }

    async fn owns_document(
        &self,
        _: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool> {
        self.risk()?;
        let docs = self.docs.lock().unwrap();
        let doc = docs.get(document.as_str());
        Ok(doc.is_some_and(|doc| doc.claims.contains(claim) || doc.by == claim.connection))
    }

    async fn release_claim(
        &self,
        _: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<()> {
        if let Some(doc) = self.docs.lock().unwrap().get_mut(document.as_str()) {
            doc.claims.remove(claim);
        }
        Ok(())
    }

    async fn release_document(
        &self,
        _: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool> {
        self.risk()?;
        let removed = {
            let mut docs = self.docs.lock().unwrap();
            let Some(doc) = docs.get_mut(document.as_str()) else {
                return Ok(false);
            };
            if doc.claims.remove(claim) {
                self.interrupt()?;
            }
            let last = doc.claims.is_empty();
            if last {
                docs.remove(document.as_str());
            }
            last
        };

        self.risk()?;
        Ok(removed)
    }
}
