//! Control over how the drive behaves, and access to what it recorded.

use std::collections::BTreeMap;

use super::DriveAdmin;
use crate::channels::SentNotification;
use crate::faults::PlannedFault;
use crate::oauth::{AccessToken, ConsentDecision};
use crate::quirks::Quirks;
use crate::state::RecordedRequest;

impl DriveAdmin {
    /// Plans a fault.
    pub fn plan_fault(&self, fault: PlannedFault) {
        self.with_state(|state| state.faults.push(fault));
    }

    /// Drops all planned faults that have not happened.
    pub fn clear_planned_faults(&self) {
        self.with_state(|state| state.faults.clear());
    }

    /// Plans the decision of the next user who is asked for consent. That user sees no page.
    pub fn plan_consent(&self, consent: ConsentDecision) {
        self.with_state(|state| state.oauth.planned_decisions.push_back(consent));
    }

    /// Sets the decision of every user who is asked for consent from now on. With `None`, they see
    /// a page.
    pub fn set_default_consent(&self, consent: Option<ConsentDecision>) {
        self.with_state(|state| state.oauth.default_decision = consent);
    }

    /// Withholds the refresh token from the next `times` exchanges of a code.
    pub fn withhold_refresh_tokens(&self, times: u32) {
        self.with_state(|state| state.oauth.exchanges_without_refresh = times);
    }

    /// Ends all permissions that an account has given to apps.
    pub fn revoke_permissions(&self, email: &str) {
        self.with_state(|state| state.oauth.revoke_permissions(email, None));
    }

    /// Expires all access tokens. Refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        self.with_state(|state| state.oauth.expire_access_tokens());
    }

    /// Changes the quirks of the drive.
    pub fn set_quirks(&self, change: impl FnOnce(&mut Quirks)) {
        self.with_state(|state| change(&mut state.contents.quirks));
    }

    /// Advances the clock.
    pub fn advance_clock(&self, seconds: i64) {
        self.with_state(|state| state.contents.clock.advance_millis(seconds * 1000));
    }

    /// Returns the drive's time in milliseconds.
    pub fn now_millis(&self) -> i64 {
        self.with_state(|state| state.contents.clock.now())
    }

    /// Returns the quota units that an account has spent.
    pub fn quota_units(&self, email: &str) -> u64 {
        self.with_state(|state| state.units.get(email).copied().unwrap_or_default())
    }

    /// Returns the quota units that each account has spent.
    pub fn all_quota_units(&self) -> BTreeMap<String, u64> {
        self.with_state(|state| state.units.clone())
    }

    /// Returns all requests so far, without those for commands.
    pub fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.with_state(|state| state.recorded_requests.clone())
    }

    /// Clears the recorded requests.
    pub fn clear_requests(&self) {
        self.with_state(|state| state.recorded_requests.clear());
    }

    /// Returns the notifications that were sent.
    pub fn sent_notifications(&self) -> Vec<SentNotification> {
        self.with_state(|state| state.deliveries.clone())
    }

    /// Returns the ids of the open channels.
    pub fn open_channel_ids(&self) -> Vec<String> {
        self.with_state(|state| {
            let now = state.contents.clock.now();
            let open_channels = state
                .channels
                .iter()
                .filter(|channel| channel.expires_at > now);
            open_channels.map(|channel| channel.id.clone()).collect()
        })
    }

    /// Returns the items with this name, in the order in which they were created.
    pub fn find_by_name(&self, name: &str) -> Vec<String> {
        self.with_state(|state| {
            let mut items: Vec<_> = state
                .contents
                .items
                .values()
                .filter(|item| item.name == name)
                .collect();
            items.sort_by_key(|item| item.seq);
            items.into_iter().map(|item| item.id.clone()).collect()
        })
    }

    /// Returns an access token of an account for the default app with the scope `drive.readonly`,
    /// for tests that are not about permissions. The token never expires.
    pub fn access_token(&self, email: &str) -> String {
        let scope = "https://www.googleapis.com/auth/drive.readonly".to_owned();
        let access = AccessToken::new(email, &self.client.0, vec![scope], i64::MAX);
        self.with_state(|state| {
            state.contents.get_or_create_account(email);
            state
                .oauth
                .issue_access_token(&mut state.contents.random, access)
        })
    }
}
