//! Lookups of single items at the provider, and the scope and paths of items that follow from them.

use std::collections::HashSet;

use domain::connection::SyncScope;
use domain::ports::{ConnectorError, Item, ItemKind};
use futures::stream::{self, StreamExt};
use tokio::time::timeout_at;

use crate::limits::{AT_ONCE, PATIENCE};
use crate::work::{Halt, Work};

/// The most folders above an item that are followed. A longer chain is a cycle, or was not made by
/// a person.
const DEEPEST: usize = 100;
/// The most lookups that are kept in memory.
const MAX_LOOKS: usize = 5_000;
/// The number of failed lookups in one batch from which the provider is at fault, not the single
/// items.
const MANY: usize = 4;

impl Work<'_> {
    /// Discards all lookups. Called before a request whose answer may report changes that are newer
    /// than the lookups so far.
    pub(crate) fn look_anew(&mut self) {
        self.looks.clear();
        self.withheld.clear();
    }

    /// Looks up these items concurrently for later calls of [`Self::look`].
    pub(crate) async fn look_at(&mut self, ids: &[String]) -> Result<(), Halt> {
        let is_new = |id: &&String| !self.looks.contains_key(*id) && !self.withheld.contains(*id);
        let ids: HashSet<String> = ids.iter().filter(is_new).cloned().collect();
        if self.looks.len() + ids.len() > MAX_LOOKS {
            self.looks.clear();
        }

        let (connector, access, until) = (self.connector, self.access.clone(), self.asks_until());
        let look = |id: String| {
            let access = &access;
            async move {
                let item = timeout_at(until, connector.stat(access, &id)).await;
                (
                    id,
                    item.unwrap_or_else(|_| {
                        Err(ConnectorError::Unavailable("it took too long".into()))
                    }),
                )
            }
        };

        let mut looks = stream::iter(ids.into_iter().map(look)).buffer_unordered(AT_ONCE);
        let mut alone = 0;
        while let Some((id, item)) = looks.next().await {
            self.asked(1);
            match item {
                Ok(item) => drop(self.looks.insert(id, item)),
                Err(error) => {
                    alone += usize::from(!matches!(error, ConnectorError::Item(_)));
                    // A site may have lost a whole section for good. The crawl has already shown
                    // whether the site answers at all.
                    let many = alone >= MANY && self.connector.has_changes();
                    if !self.is_of_one(&error) || many {
                        return Err(error.into());
                    }
                    self.withheld.insert(id);
                }
            }
        }

        Ok(())
    }

    /// Checks whether an error concerns a single item. An item that is repeatedly unavailable
    /// counts as such if the provider still shows others.
    fn is_of_one(&self, error: &ConnectorError) -> bool {
        match error {
            ConnectorError::Item(_) | ConnectorError::Fault(_) => true,
            ConnectorError::Unavailable(_) => self.state.attempts >= PATIENCE && !self.is_late(),
            _ => false,
        }
    }

    /// Returns the item in its current state, or `None` when the account does not see it.
    pub(crate) async fn look(&mut self, id: &str) -> Result<Option<Item>, Halt> {
        self.look_at(&[id.to_owned()]).await?;
        if self.withheld.contains(id) {
            return Err(Halt::Withheld);
        }
        Ok(self.looks.get(id).cloned().flatten())
    }

    pub(crate) fn is_selective(&self) -> bool {
        self.connection.scope == SyncScope::Selected
    }

    /// Checks whether an item is to be synchronized: it exists, and if there is a selection, it or
    /// a folder above it is selected.
    pub(crate) async fn in_scope(&mut self, item: Option<&Item>) -> Result<bool, Halt> {
        let Some(item) = item.filter(|item| !item.trashed) else {
            return Ok(false);
        };

        if !self.is_selective() || self.selected.contains(&item.id) {
            return Ok(true);
        }

        let mut above = item.parent.clone();
        for _ in 0..DEEPEST {
            let Some(id) = above else {
                return Ok(false);
            };
            let Some(folder) = self.look(&id).await?.filter(|folder| !folder.trashed) else {
                return Ok(false);
            };
            if self.selected.contains(&id) {
                return Ok(true);
            }
            above = folder.parent;
        }

        Ok(false)
    }

    /// Returns the path of an item, computed from the known folders if possible and otherwise from
    /// those at the provider.
    pub(crate) async fn place(&mut self, item: &Item) -> Result<String, Halt> {
        if let Some(root) = self
            .state
            .roots
            .get(&item.id)
            .filter(|_| self.selected.contains(&item.id))
        {
            return Ok(below(&root.above, &item.name));
        }

        let Some(parent) = &item.parent else {
            return Ok(below("", &item.name));
        };

        if let Some(folder) = self.node(parent).await? {
            return Ok(below(&folder.path, &item.name));
        }

        let (_, names) = self.above(item).await?;
        Ok(below(&names, &item.name))
    }

    /// Returns the folders that are now above an item: their ids, beginning with the nearest one,
    /// and their path.
    pub(crate) async fn above(&mut self, item: &Item) -> Result<(Vec<String>, String), Halt> {
        let (mut ids, mut names) = (Vec::new(), Vec::new());
        let mut next = item.parent.clone();
        while let Some(id) = next.filter(|_| ids.len() < DEEPEST) {
            let folder = self.look(&id).await?;
            ids.push(id);
            names.extend(folder.as_ref().map(|folder| folder.name.clone()));
            next = folder.and_then(|folder| folder.parent);
        }

        let path = names
            .iter()
            .rev()
            .fold(String::new(), |path, name| below(&path, name));
        Ok((ids, path))
    }

    /// Returns the folders above an item that have no records yet, the highest first, or an empty
    /// list if they do not lead to a known folder or a selected item.
    pub(crate) async fn unknown_above(&mut self, item: &Item) -> Result<Vec<Item>, Halt> {
        let mut unknown = Vec::new();
        let mut next = item.parent.clone();
        while let Some(id) = next.filter(|_| unknown.len() < DEEPEST) {
            if self.node(&id).await?.is_some() || self.selected.contains(&id) {
                break;
            }
            let Some(folder) = self.look(&id).await?.filter(|folder| !folder.trashed) else {
                return Ok(Vec::new());
            };
            next = folder.parent.clone();
            unknown.push(folder);
        }

        unknown.reverse();
        Ok(unknown)
    }
}

pub(crate) fn is_folder(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Folder)
}

/// Returns the path of an item in a folder.
pub(crate) fn below(folder: &str, name: &str) -> String {
    format!("{folder}/{}", segment(name))
}

/// Turns a name into a path segment. Names in a drive may contain slashes, which become division
/// slashes (U+2215).
pub(crate) fn segment(name: &str) -> String {
    name.replace('/', "\u{2215}")
}
