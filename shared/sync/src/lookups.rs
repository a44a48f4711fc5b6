//! Lookups of single items at the provider, and the scope and paths of items that follow from them.

use std::collections::HashSet;

use domain::connection::SyncScope;
use domain::ports::{ConnectorError, ProviderItem};
use futures::stream::{self, StreamExt};
use tokio::time::timeout_at;

use crate::item_paths::join_path;
use crate::limits::PROVIDER_FAILURES;
use crate::step_state::{StepState, TickError};

/// The most folders above an item that are followed. A longer chain is a cycle, or was not made by
/// a person.
const MAX_DEPTH: usize = 100;
/// The most lookups that are kept in memory.
const MAX_LOOKS: usize = 5_000;
/// The number of failed lookups in one batch from which the provider is at fault, not the single
/// items.
const MANY_FAILED_LOOKUPS: usize = 4;

impl StepState<'_> {
    /// Discards all lookups. Called before a request whose answer may report changes that are newer
    /// than the lookups so far.
    pub(crate) fn clear_lookups(&mut self) {
        self.lookups.clear();
        self.withheld_items.clear();
    }

    /// Looks up these items for later calls of [`Self::look_up_item`], as many at a time as the
    /// connector permits.
    pub(crate) async fn look_up_items(&mut self, ids: &[String]) -> Result<(), TickError> {
        let is_new =
            |id: &&String| !self.lookups.contains_key(*id) && !self.withheld_items.contains(*id);
        let ids: HashSet<String> = ids.iter().filter(is_new).cloned().collect();
        if self.lookups.len() + ids.len() > MAX_LOOKS {
            self.lookups.clear();
        }

        let (connector, access, until) =
            (self.connector, self.access.clone(), self.request_deadline());
        let look = |id: String| {
            let access = &access;
            async move {
                let item = timeout_at(until, connector.get_item(access, &id)).await;
                (
                    id,
                    item.unwrap_or_else(|_| {
                        Err(ConnectorError::Unavailable("it took too long".into()))
                    }),
                )
            }
        };

        let mut looks =
            stream::iter(ids.into_iter().map(look)).buffer_unordered(connector.parallel_requests());
        let mut failed_lookups = 0;
        while let Some((id, item)) = looks.next().await {
            self.count_requests(1);
            match item {
                Ok(item) => drop(self.lookups.insert(id, item)),
                Err(error) => {
                    failed_lookups += usize::from(!matches!(error, ConnectorError::Item(_)));
                    // A site may have lost a whole section for good. The crawl has already shown
                    // whether the site answers at all.
                    let is_provider_failing =
                        failed_lookups >= MANY_FAILED_LOOKUPS && self.connector.reports_changes();
                    if !self.concerns_single_item(&error) || is_provider_failing {
                        return Err(error.into());
                    }
                    self.withheld_items.insert(id);
                }
            }
        }

        Ok(())
    }

    /// Checks whether an error concerns a single item. An item that is repeatedly unavailable
    /// counts as such if the provider still shows others.
    fn concerns_single_item(&self, error: &ConnectorError) -> bool {
        match error {
            ConnectorError::Item(_) | ConnectorError::Fault(_) => true,
            ConnectorError::Unavailable(_) => {
                self.state.attempts >= PROVIDER_FAILURES && !self.is_late()
            }
            _ => false,
        }
    }

    /// Returns the item in its current state, or `None` when the account does not see it.
    pub(crate) async fn look_up_item(
        &mut self,
        id: &str,
    ) -> Result<Option<ProviderItem>, TickError> {
        self.look_up_items(&[id.to_owned()]).await?;
        if self.withheld_items.contains(id) {
            return Err(TickError::Withheld);
        }
        Ok(self.lookups.get(id).cloned().flatten())
    }

    /// Returns the revision of the selection, or `None` if the whole account is synchronized.
    pub(crate) fn selection_revision(&self) -> Option<u64> {
        self.is_selective().then_some(self.selection.rev)
    }

    pub(crate) fn is_selective(&self) -> bool {
        self.connection.scope == SyncScope::Selected
    }

    /// Checks whether an item is to be synchronized: it exists, and if there is a selection, it or
    /// a folder above it is selected.
    pub(crate) async fn is_in_scope(
        &mut self,
        item: Option<&ProviderItem>,
    ) -> Result<bool, TickError> {
        let Some(item) = item.filter(|item| !item.is_trashed) else {
            return Ok(false);
        };

        if !self.is_selective() || self.selected_ids.contains(&item.id) {
            return Ok(true);
        }

        let mut above = item.parent.clone();
        for _ in 0..MAX_DEPTH {
            let Some(id) = above else {
                return Ok(false);
            };
            let Some(folder) = self
                .look_up_item(&id)
                .await?
                .filter(|folder| !folder.is_trashed)
            else {
                return Ok(false);
            };
            if self.selected_ids.contains(&id) {
                return Ok(true);
            }
            above = folder.parent;
        }

        Ok(false)
    }

    /// Returns the path of an item, computed from the known folders if possible and otherwise from
    /// those at the provider.
    pub(crate) async fn path_of_item(&mut self, item: &ProviderItem) -> Result<String, TickError> {
        if let Some(state) = self
            .state
            .selected_items
            .get(&item.id)
            .filter(|_| self.selected_ids.contains(&item.id))
        {
            return Ok(join_path(&state.above, &item.name));
        }

        let Some(parent) = &item.parent else {
            return Ok(join_path("", &item.name));
        };

        if let Some(folder) = self.current_record(parent).await? {
            return Ok(join_path(&folder.path, &item.name));
        }

        let (_, names) = self.folders_above(item).await?;
        Ok(join_path(&names, &item.name))
    }

    /// Returns the folders that are now above an item: their ids, beginning with the nearest one,
    /// and their path.
    pub(crate) async fn folders_above(
        &mut self,
        item: &ProviderItem,
    ) -> Result<(Vec<String>, String), TickError> {
        let (mut ids, mut names) = (Vec::new(), Vec::new());
        let mut next = item.parent.clone();
        while let Some(id) = next.filter(|_| ids.len() < MAX_DEPTH) {
            let folder = self.look_up_item(&id).await?;
            ids.push(id);
            names.extend(folder.as_ref().map(|folder| folder.name.clone()));
            next = folder.and_then(|folder| folder.parent);
        }

        let path = names
            .iter()
            .rev()
            .fold(String::new(), |path, name| join_path(&path, name));
        Ok((ids, path))
    }

    /// Returns the folders above an item that have no records yet, the highest first, or an empty
    /// list if they do not lead to a known folder or a selected item.
    pub(crate) async fn unknown_folders_above(
        &mut self,
        item: &ProviderItem,
    ) -> Result<Vec<ProviderItem>, TickError> {
        let mut unknown = Vec::new();
        let mut next = item.parent.clone();
        while let Some(id) = next.filter(|_| unknown.len() < MAX_DEPTH) {
            if self.current_record(&id).await?.is_some() || self.selected_ids.contains(&id) {
                break;
            }
            let Some(folder) = self
                .look_up_item(&id)
                .await?
                .filter(|folder| !folder.is_trashed)
            else {
                return Ok(Vec::new());
            };
            next = folder.parent.clone();
            unknown.push(folder);
        }

        unknown.reverse();
        Ok(unknown)
    }
}
