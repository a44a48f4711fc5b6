//! The places for documents that are processed at the same time, and their allocation to
//! organizations.
//!
//! A document takes two places, and so do several short texts that are processed together. A single short
//! text takes one: it is read in milliseconds, during which it mostly waits for the disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::OrgId;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// A number of places shared among organizations.
///
/// An organization gets places only as long as it has no more than are free (a dynamic threshold, as
/// switches share their buffer among ports). Alone it gets half of them, and the next one gets half of
/// the rest. An organization that floods the queue therefore leaves places to others, without a fixed
/// reserve for anybody.
pub(crate) struct ProcessingPlaces {
    total: usize,
    taken: Mutex<PlaceCounts>,
    place_freed: Notify,
}

#[derive(Default)]
struct PlaceCounts {
    /// The number of places of each organization.
    by_org: HashMap<OrgId, usize>,
    /// The number of messages in them. Messages that are handled together count as one.
    messages: usize,
}

/// The places of one message, or of messages that are handled together. Dropping them frees them.
pub(crate) struct TakenPlaces {
    places: Arc<ProcessingPlaces>,
    org: OrgId,
    count: usize,
}

/// The places that a short text takes.
pub(crate) const SHORT_TEXT_PLACES: usize = 1;
/// The places that any other document takes.
pub(crate) const DOCUMENT_PLACES: usize = 2;

impl ProcessingPlaces {
    pub(crate) fn new(total: usize) -> Arc<Self> {
        Arc::new(Self {
            total,
            taken: Mutex::default(),
            place_freed: Notify::new(),
        })
    }

    /// Takes `count` places for a document of an organization. Returns `None` if the organization may not
    /// have them within `max_wait`. Only one task may wait at a time.
    pub(crate) async fn take_places(
        self: &Arc<Self>,
        org: &OrgId,
        count: usize,
        max_wait: Duration,
    ) -> Option<TakenPlaces> {
        let deadline = Instant::now() + max_wait;
        loop {
            if let Some(taken) = self.try_take_places(org, count) {
                return Some(taken);
            }
            timeout_at(deadline, self.place_freed.notified())
                .await
                .ok()?;
        }
    }

    /// Returns the number of messages that are handled now. Those that are handled together count as one.
    pub(crate) fn count_messages(&self) -> usize {
        self.lock_taken().messages
    }

    /// Waits until a place is free. Only one task may wait at a time.
    pub(crate) async fn wait_for_free_place(&self) {
        while self.free_places(&self.lock_taken()) == 0 {
            self.place_freed.notified().await;
        }
    }

    fn try_take_places(self: &Arc<Self>, org: &OrgId, count: usize) -> Option<TakenPlaces> {
        let mut taken = self.lock_taken();
        let taken_by_org = taken.by_org.get(org).copied().unwrap_or_default();
        if taken_by_org + count > self.free_places(&taken) {
            return None;
        }
        taken.by_org.insert(org.clone(), taken_by_org + count);
        taken.messages += 1;
        Some(TakenPlaces {
            places: self.clone(),
            org: org.clone(),
            count,
        })
    }

    fn free_places(&self, taken: &PlaceCounts) -> usize {
        self.total.saturating_sub(taken.by_org.values().sum())
    }

    fn lock_taken(&self) -> MutexGuard<'_, PlaceCounts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TakenPlaces {
    fn drop(&mut self) {
        let mut taken = self.places.lock_taken();
        let taken_by_org = taken.by_org.get(&self.org).copied().unwrap_or_default();
        match taken_by_org.saturating_sub(self.count) {
            0 => taken.by_org.remove(&self.org),
            remaining => taken.by_org.insert(self.org.clone(), remaining),
        };
        taken.messages = taken.messages.saturating_sub(1);
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
        for (count, shares) in [
            (SHORT_TEXT_PLACES, [4, 2, 1, 1]),
            (DOCUMENT_PLACES, [2, 1, 1, 0]),
        ] {
            let places = ProcessingPlaces::new(8);
            let mut taken_places = Vec::new();
            for (name, share) in ["flood", "second", "third", "quiet"]
                .into_iter()
                .zip(shares)
            {
                let mut own_places: Vec<TakenPlaces> =
                    std::iter::from_fn(|| places.try_take_places(&org(name), count)).collect();
                assert_eq!(own_places.len(), share, "{name}");
                taken_places.append(&mut own_places);
            }
            assert!(
                places.try_take_places(&org("late"), count).is_none(),
                "all are taken"
            );
            assert_eq!(places.count_messages(), taken_places.len());
            taken_places.clear();
            assert_eq!(places.free_places(&places.lock_taken()), 8);
        }
    }

    #[test]
    fn short_texts_leave_places_to_documents_of_others() {
        let places = ProcessingPlaces::new(8);
        let texts: Vec<TakenPlaces> =
            std::iter::from_fn(|| places.try_take_places(&org("flood"), SHORT_TEXT_PLACES))
                .collect();
        assert_eq!(texts.len(), 4);
        assert!(
            places
                .try_take_places(&org("quiet"), DOCUMENT_PLACES)
                .is_some()
        );
    }

    #[tokio::test]
    async fn a_place_that_becomes_free_goes_to_who_waits() {
        let places = ProcessingPlaces::new(2);
        let (org, count) = (org("a"), SHORT_TEXT_PLACES);
        let first_places = places.try_take_places(&org, count).expect("places");
        assert!(
            places
                .take_places(&org, count, Duration::ZERO)
                .await
                .is_none(),
            "it has its share"
        );
        let wait = places.take_places(&org, count, Duration::from_secs(60));
        let (second, ()) = tokio::join!(wait, async { drop(first_places) });
        assert!(second.is_some());
    }
}
