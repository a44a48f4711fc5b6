//! The places for documents that are processed at the same time, and their allocation to
//! organizations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::OrgId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// A number of places shared among organizations.
///
/// An organization gets another place only while it has fewer than are free (a dynamic threshold,
/// as switches share their buffer among ports). Alone it gets half of them, and the next one gets
/// half of the rest. An organization that floods the queue therefore leaves places to others,
/// without a fixed reserve for anybody.
pub(crate) struct ProcessingPlaces {
    total: usize,
    taken: Mutex<HashMap<OrgId, usize>>,
    place_freed: Notify,
}

/// A place for one document. Dropping it frees the place.
pub(crate) struct Place {
    places: Arc<ProcessingPlaces>,
    org: OrgId,
}

impl ProcessingPlaces {
    pub(crate) fn new(total: usize) -> Arc<Self> {
        Arc::new(Self {
            total,
            taken: Mutex::default(),
            place_freed: Notify::new(),
        })
    }

    /// Takes a place for an organization. Returns `None` if the organization may not have another
    /// one within `patience`. Only one task may wait at a time.
    pub(crate) async fn take_place(
        self: &Arc<Self>,
        org: &OrgId,
        max_wait: Duration,
    ) -> Option<Place> {
        let deadline = Instant::now() + max_wait;
        loop {
            if let Some(place) = self.try_take_place(org) {
                return Some(place);
            }
            timeout_at(deadline, self.place_freed.notified())
                .await
                .ok()?;
        }
    }

    /// Waits until a place is free. Only one task may wait at a time.
    pub(crate) async fn wait_for_free_place(&self) {
        while self.free_places(&self.lock_taken()) == 0 {
            self.place_freed.notified().await;
        }
    }

    fn try_take_place(self: &Arc<Self>, org: &OrgId) -> Option<Place> {
        let mut taken = self.lock_taken();
        let taken_by_org = taken.get(org).copied().unwrap_or_default();
        if taken_by_org >= self.free_places(&taken) {
            return None;
        }
        taken.insert(org.clone(), taken_by_org + 1);
        Some(Place {
            places: self.clone(),
            org: org.clone(),
        })
    }

    fn free_places(&self, taken: &HashMap<OrgId, usize>) -> usize {
        self.total.saturating_sub(taken.values().sum())
    }

    fn lock_taken(&self) -> MutexGuard<'_, HashMap<OrgId, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock_taken();
        let remaining = match taken.get(&self.org) {
            Some(count) => count.saturating_sub(1),
            None => 0,
        };
        if remaining == 0 {
            taken.remove(&self.org);
        } else {
            taken.insert(self.org.clone(), remaining);
        }
        drop(taken);
        self.places.place_freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn org(name: &str) -> OrgId {
        OrgId::parse(name).expect("a name of an organization")
    }

    #[test]
    fn no_organization_takes_the_places_of_the_others() {
        let places = ProcessingPlaces::new(8);
        let mut taken_places = Vec::new();
        for (name, share) in [("flood", 4), ("second", 2), ("third", 1), ("quiet", 1)] {
            let mut own_places: Vec<Place> =
                std::iter::from_fn(|| places.try_take_place(&org(name))).collect();
            assert_eq!(own_places.len(), share, "{name}");
            taken_places.append(&mut own_places);
        }
        assert!(
            places.try_take_place(&org("late")).is_none(),
            "all are taken"
        );
        taken_places.clear();
        assert_eq!(places.free_places(&places.lock_taken()), 8);
    }

    #[tokio::test]
    async fn a_place_that_becomes_free_goes_to_who_waits() {
        let places = ProcessingPlaces::new(2);
        let first_place = places.try_take_place(&org("a")).expect("a place");
        assert!(
            places.take_place(&org("a"), Duration::ZERO).await.is_none(),
            "it has its share"
        );
        let same = org("a");
        let wait = places.take_place(&same, Duration::from_secs(60));
        let (second, ()) = tokio::join!(wait, async { drop(first_place) });
        assert!(second.is_some());
    }
}
