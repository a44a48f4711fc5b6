//! How the drive behaves, and what was seen of it.

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

    /// Drops all faults that have not happened.
    pub fn clear_plans(&self) {
        self.with(|state| state.faults.clear());
    }

    /// Plans what the next person does who is asked for permission, who then sees no page.
    pub fn plan_consent(&self, consent: Consent) {
        self.with(|state| state.oauth.plans.push_back(consent));
    }

    /// Sets what people do from now on who are asked for permission; they see a page if nothing.
    pub fn always_consent(&self, consent: Option<Consent>) {
        self.with(|state| state.oauth.habit = consent);
    }

    /// Has the next exchanges of a code come without a refresh token.
    pub fn without_refresh_token(&self, times: u32) {
        self.with(|state| state.oauth.without_refresh = times);
    }

    /// Has a person end all that they have permitted to apps.
    pub fn revoke(&self, email: &str) {
        self.with(|state| state.oauth.end(email, None));
    }

    /// Ends all access tokens; refresh tokens stay good.
    pub fn expire_access_tokens(&self) {
        self.with(|state| state.oauth.expire_access());
    }

    /// Changes how bad the drive is.
    pub fn set_quirks(&self, change: impl FnOnce(&mut Quirks)) {
        self.with(|state| change(&mut state.world.quirks));
    }

    /// Turns the clock forward.
    pub fn advance_seconds(&self, seconds: i64) {
        self.with(|state| state.world.clock.advance(seconds * 1000));
    }

    /// The drive's time in milliseconds.
    pub fn now(&self) -> i64 {
        self.with(|state| state.world.clock.now())
    }

    /// The quota units that an account has spent.
    pub fn quota_units(&self, email: &str) -> u64 {
        self.with(|state| state.units.get(email).copied().unwrap_or_default())
    }

    /// The quota units that each account has spent.
    pub fn all_quota_units(&self) -> BTreeMap<String, u64> {
        self.with(|state| state.units.clone())
    }

    /// All requests so far, but for those of commands.
    pub fn requests(&self) -> Vec<Seen> {
        self.with(|state| state.seen.clone())
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.with(|state| state.seen.clear());
    }

    /// The notifications that went out.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.with(|state| state.deliveries.clone())
    }

    /// The ids of the channels that are open.
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

    /// The items whose names are these, in the order in which they were made.
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

    /// An access token of an account for the known app with the scope `drive.readonly`, for tests that are not about
    /// permissions. It lives for ever.
    pub fn access_token(&self, email: &str) -> String {
        let scope = "https://www.googleapis.com/auth/drive.readonly".to_owned();
        let access = Access::new(email, &self.client.0, vec![scope], i64::MAX);
        self.with(|state| {
            state.world.account(email);
            state.oauth.grant_access(&mut state.world.random, access)
        })
    }
}
