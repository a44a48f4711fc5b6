//! The interface between the engine and the service, for which tests substitute a small
//! implementation.

use async_trait::async_trait;
use bytes::Bytes;
use domain::connection::{DocumentClaim, Grant, OAuthTokens};
use domain::ports::{Clock, Connections, Connector, ConnectorResult, ProviderAccess, SyncStore};
use domain::settings::Settings;
use domain::{
    BodyForm, Connection, ConnectionId, ContainerTag, CustomId, DocumentId, Result, Secret, Tenant,
    Timestamp,
};
use service::Ctx;
use service::{ItemDocument, TicketKind, TicketValue};

#[async_trait]
pub(crate) trait SyncService: Send + Sync {
    fn clock(&self) -> &dyn Clock;
    fn connections(&self) -> &dyn Connections;
    fn sync(&self) -> &dyn SyncStore;
    async fn settings(&self, tenant: &Tenant) -> Result<Settings>;
    /// Returns the data that requests for a connection need.
    async fn access_for(
        &self,
        connector: &dyn Connector,
        tenant: &Tenant,
        connection: &Connection,
    ) -> ConnectorResult<ProviderAccess>;
    /// Renews what [`Self::access_for`] returns, after the provider has refused it.
    async fn renew_access(
        &self,
        connector: &dyn Connector,
        tenant: &Tenant,
        connection: &Connection,
    ) -> ConnectorResult<ProviderAccess>;
    /// Returns the tokens of a grant, so that it can be revoked.
    async fn grant_tokens(&self, tenant: &Tenant, grant: &Grant) -> Result<Option<OAuthTokens>>;
    async fn forget_tokens(&self, tenant: &Tenant, grant: &Grant) -> Result<()>;
    /// Issues the ticket that notifications carry.
    async fn channel_token(
        &self,
        tenant: &Tenant,
        id: &ConnectionId,
        until: Timestamp,
    ) -> Result<Secret>;
    /// Returns the id that the document of an item has or would have, or `None` before the
    /// container exists.
    async fn document_id_of(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        custom_id: &CustomId,
    ) -> Result<Option<DocumentId>>;
    /// Makes the document of an item from its content, or gives the existing document that content,
    /// and claims the document.
    async fn make_document(
        &self,
        tenant: &Tenant,
        item: ItemDocument,
        bytes: Bytes,
        form: BodyForm,
    ) -> Result<DocumentId>;
    /// Claims the existing document of an item, and describes it like the item. Returns `None` if
    /// the document does not have the content of the item, which then has to be fetched.
    async fn adopt_document(
        &self,
        tenant: &Tenant,
        item: &ItemDocument,
    ) -> Result<Option<DocumentId>>;
    /// Checks whether a connection may release a document: the document has this claim, or its
    /// origin is this connection, which may have been interrupted after it released the claim.
    async fn owns_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool>;
    /// Releases a claim, and deletes the document if that was its last claim. Returns whether it
    /// deleted the document.
    async fn release_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool>;
    /// Releases a claim. The document stays.
    async fn release_claim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<()>;
}

/// The implementation over the ports of the service.
pub(crate) struct PortService<'a>(pub(crate) &'a Ctx);

#[async_trait]
impl SyncService for PortService<'_> {
    fn clock(&self) -> &dyn Clock {
        self.0.clock.as_ref()
    }

    fn connections(&self) -> &dyn Connections {
        self.0.connections.as_ref()
    }

    fn sync(&self) -> &dyn SyncStore {
        self.0.sync.as_ref()
    }

    async fn settings(&self, tenant: &Tenant) -> Result<Settings> {
        Ok(self.0.settings.get(tenant).await?)
    }

    async fn access_for(
        &self,
        connector: &dyn Connector,
        tenant: &Tenant,
        connection: &Connection,
    ) -> ConnectorResult<ProviderAccess> {
        service::provider_access(self.0, connector, tenant, connection).await
    }

    async fn renew_access(
        &self,
        connector: &dyn Connector,
        tenant: &Tenant,
        connection: &Connection,
    ) -> ConnectorResult<ProviderAccess> {
        service::renew_provider_access(self.0, connector, tenant, connection).await
    }

    async fn grant_tokens(&self, tenant: &Tenant, grant: &Grant) -> Result<Option<OAuthTokens>> {
        let sealed = self.0.vault.get(tenant, &grant.secret).await?;
        Ok(sealed.as_ref().and_then(OAuthTokens::from_secret))
    }

    async fn forget_tokens(&self, tenant: &Tenant, grant: &Grant) -> Result<()> {
        Ok(self.0.vault.delete(tenant, &grant.secret).await?)
    }

    async fn channel_token(
        &self,
        tenant: &Tenant,
        id: &ConnectionId,
        until: Timestamp,
    ) -> Result<Secret> {
        let of = TicketValue::new(tenant, id);
        service::issue_ticket(self.0, TicketKind::Channel, &of, until).await
    }

    async fn document_id_of(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        custom_id: &CustomId,
    ) -> Result<Option<DocumentId>> {
        service::item_document_id(self.0, tenant, tag, custom_id).await
    }

    async fn make_document(
        &self,
        tenant: &Tenant,
        item: ItemDocument,
        bytes: Bytes,
        form: BodyForm,
    ) -> Result<DocumentId> {
        Ok(service::file_item(self.0, tenant, item, bytes, form)
            .await?
            .id)
    }

    async fn adopt_document(
        &self,
        tenant: &Tenant,
        item: &ItemDocument,
    ) -> Result<Option<DocumentId>> {
        service::refile_item(self.0, tenant, item).await
    }

    async fn release_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool> {
        service::release_item(self.0, tenant, document, claim).await
    }

    async fn owns_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<bool> {
        if self
            .0
            .connections
            .list_claims(tenant, document)
            .await?
            .contains(claim)
        {
            return Ok(true);
        }

        let found = self.0.documents.get_one(tenant, document).await?;
        let origin = found.and_then(|document| document.origin);
        Ok(origin.is_some_and(|origin| origin.connection == claim.connection))
    }

    async fn release_claim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> Result<()> {
        service::release_claim(self.0, tenant, document, claim)
            .await
            .map(|_| ())
    }
}
