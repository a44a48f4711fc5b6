//! A store of connections, grants and claims in memory.

use async_trait::async_trait;
use domain::connection::{Connection, DocumentClaim, Grant};
use domain::ports::{Connections, PortResult};
use domain::{ConnectionId, DocumentId, GrantId, OrgId, Tenant, Timestamp};

use super::memory::MemoryStore;

#[async_trait]
impl Connections for MemoryStore {
    async fn get(&self, _: &Tenant, id: &ConnectionId) -> PortResult<Option<Connection>> {
        Ok(self.live_records()?.connections.get(id).cloned())
    }

    async fn list(&self, _: &Tenant) -> PortResult<Vec<Connection>> {
        Ok(self.live_records()?.connections.values().cloned().collect())
    }

    async fn save(&self, _: &Tenant, connection: &Connection) -> PortResult<bool> {
        self.maybe_crash()?;
        let mut records = self.lock();
        let stored = records
            .connections
            .get(&connection.id)
            .map_or(0, |stored| stored.rev);
        let first = stored + 1 == connection.rev;
        if first {
            records
                .connections
                .insert(connection.id.clone(), connection.clone());
        }

        Ok(first)
    }

    async fn delete(&self, _: &Tenant, connection: &Connection) -> PortResult<bool> {
        self.maybe_crash()?;
        let mut records = self.lock();
        let same = records
            .connections
            .get(&connection.id)
            .is_none_or(|stored| stored.rev == connection.rev);
        if same {
            records.connections.remove(&connection.id);
        }
        Ok(same)
    }

    async fn list_due(&self, _: Timestamp, _: usize) -> PortResult<Vec<(OrgId, ConnectionId)>> {
        Ok(Vec::new())
    }

    async fn get_grant(&self, _: &Tenant, id: &GrantId) -> PortResult<Option<Grant>> {
        Ok(self.live_records()?.grants.get(id).cloned())
    }

    async fn save_grant(&self, _: &Tenant, grant: &Grant) -> PortResult<bool> {
        let mut records = self.live_records()?;
        let first = records.grants.get(&grant.id).map_or(0, |stored| stored.rev) + 1 == grant.rev;
        if first {
            records.grants.insert(grant.id.clone(), grant.clone());
        }
        Ok(first)
    }

    async fn delete_grant(&self, _: &Tenant, grant: &Grant) -> PortResult<bool> {
        let mut records = self.live_records()?;
        let same = records
            .grants
            .get(&grant.id)
            .is_none_or(|stored| stored == grant);
        if same {
            records.grants.remove(&grant.id);
        }
        Ok(same)
    }

    async fn claim_document(
        &self,
        _: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        let mut records = self.live_records()?;
        let claims = records.claims.entry(document.clone()).or_default();
        if !claims.contains(claim) {
            claims.push(claim.clone());
        }
        Ok(())
    }

    async fn release_claim(
        &self,
        _: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()> {
        let mut records = self.live_records()?;
        records
            .claims
            .entry(document.clone())
            .or_default()
            .retain(|known| known != claim);
        Ok(())
    }

    async fn list_claims(
        &self,
        _: &Tenant,
        document: &DocumentId,
    ) -> PortResult<Vec<DocumentClaim>> {
        Ok(self
            .live_records()?
            .claims
            .get(document)
            .cloned()
            .unwrap_or_default())
    }
}
