//! Control over how the drive behaves, and access to what it recorded.

use std::collections::BTreeMap;

use super::Admin;
use crate::channels::Delivery;
use crate::faults::Fault;
use crate::oauth::{Access, Consent};
use crate::quirks::Quirks;
use crate::state::Seen;

impl Admin {
    /// Plans a fault.
    pub fn plan(&self, fault: Fault) {
        self.with(|state| state.faults.push(fault));
    }

    /// Drops all planned faults that have not happened.
    pub fn clear_plans(&self) {
        self.with(|state| state.faults.clear());
    }

    /// Plans the decision of the next user who is asked for consent. That user sees no page.
    pub fn plan_consent(&self, consent: Consent) {
        self.with(|state| state.oauth.plans.push_back(consent));
    }

    /// Sets the decision of every user who is asked for consent from now on. With `None`, they see
    /// a page.
    pub fn always_consent(&self, consent: Option<Consent>) {
        self.with(|state| state.oauth.habit = consent);
    }

    /// Withholds the refresh token from the next `times` exchanges of a code.
    pub fn without_refresh_token(&self, times: u32) {
        self.with(|state| state.oauth.without_refresh = times);
    }

    /// Ends all permissions that an account has given to apps.
    pub fn revoke(&self, email: &str) {
        self.with(|state| state.oauth.end(email, None));
    }

    /// Expires all access tokens. Refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        self.with(|state| state.oauth.expire_access());
    }

    /// Changes the quirks of the drive.
    pub fn set_quirks(&self, change: impl FnOnce(&mut Quirks)) {
        self.with(|state| change(&mut state.world.quirks));
    }

    /// Advances the clock.
    pub fn advance_seconds(&self, seconds: i64) {
        self.with(|state| state.world.clock.advance(seconds * 1000));
    }

    /// Returns the drive's time in milliseconds.
    pub fn now(&self) -> i64 {
        self.with(|state| state.world.clock.now())
    }

    /// Returns the quota units that an account has spent.
    pub fn quota_units(&self, email: &str) -> u64 {
        self.with(|state| state.units.get(email).copied().unwrap_or_default())
    }

    /// Returns the quota units that each account has spent.
    pub fn all_quota_units(&self) -> BTreeMap<String, u64> {
        self.with(|state| state.units.clone())
    }

    /// Returns all requests so far, without those for commands.
    pub fn requests(&self) -> Vec<Seen> {
        self.with(|state| state.seen.clone())
    }

    /// Clears the recorded requests.
    pub fn clear_requests(&self) {
        self.with(|state| state.seen.clear());
    }

    /// Returns the notifications that were sent.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.with(|state| state.deliveries.clone())
    }

    /// Returns the ids of the open channels.
    pub fn channels(&self) -> Vec<String> {
        self.with(|state| {
            let now = state.world.clock.now();
            let open = state
                .channels
                .iter()
                .filter(|channel| channel.expires > now);
            open.map(|channel| channel.id.clone()).collect()
        })
    }

    /// Returns the items with this name, in the order in which they were created.
    pub fn named(&self, name: &str) -> Vec<String> {
        self.with(|state| {
            let mut found: Vec<_> = state
                .world
                .items
                .values()
                .filter(|item| item.name == name)
                .collect();
            found.sort_by_key(|item| item.seq);
            found.into_iter().map(|item| item.id.clone()).collect()
        })
    }

    /// Returns an access token of an account for the default app with the scope `drive.readonly`,
    /// for tests that are not about permissions. The token never expires.
    pub fn access_token(&self, email: &str) -> String {
        let scope = "https://www.googleapis.com/auth/drive.readonly".to_owned();
        let access = Access::new(email, &self.client.0, vec![scope], i64::MAX);
        self.with(|state| {
            state.world.account(email);
            state.oauth.grant_access(&mut state.world.random, access)
        })
    }
}
