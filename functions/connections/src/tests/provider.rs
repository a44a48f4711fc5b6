//! A connector whose answers a test can script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::connection::{OAuthAppRef, OAuthTokens, Provider, ProviderAccount};
use domain::ports::{
    ChangePage, Connector, ConnectorError, ConnectorResult, ConsentError, ConsentRequest,
    GrantedPermission, ItemContent, ItemKind, ItemPage, NotificationSubscription, OAuthClient,
    OAuthFlow, PickerView, ProviderAccess, ProviderItem,
};
use domain::{ConnectionId, GrantId, Metadata, Secret, Tenant, Timestamp};
use service::Ctx;

/// The scripted answers of the drive, and a record of the requests to it.
#[derive(Default)]
pub(super) struct DriveScript {
    /// The outcomes of the next codes. Without an entry, the account gives permission.
    pub(super) answers: Vec<Result<&'static str, ConsentError>>,
    /// The requests for consent, by state.
    pub(super) consent_requests: HashMap<String, ConsentRequest>,
    /// The refresh tokens that were revoked.
    pub(super) revoked: Vec<String>,
    /// The failure of the next request to the drive.
    pub(super) failure: Option<ConnectorError>,
    /// The number of permissions given so far.
    grant_count: u32,
    /// The secrets of the apps that asked for new tokens.
    pub(super) refreshed_by: Vec<String>,
    /// A connection that joins this permission while its tokens are renewed.
    pub(super) joined: Option<(Ctx, Tenant, GrantId, ConnectionId)>,
}

/// The scripted drive. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ScriptedDrive(pub(super) Arc<Mutex<DriveScript>>);

/// The operator's client id.
pub(super) const CLIENT: &str = "client-of-operator";

/// The items of the drive: id, parent, name, and whether it is a folder.
const TREE: [(&str, Option<&str>, &str, bool); 5] = [
    ("f1", None, "Projects", true),
    ("d1", None, "Plan <b>2026</b>", false),
    ("d2", None, "Budget", false),
    ("f2", Some("f1"), "Deep", true),
    ("d3", Some("f1"), "Notes", false),
];

fn item((id, parent, name, folder): (&str, Option<&str>, &str, bool)) -> ProviderItem {
    ProviderItem {
        id: id.into(),
        parent: parent.map(Into::into),
        name: name.into(),
        kind: if folder {
            ItemKind::Folder
        } else {
            ItemKind::File { document: None }
        },
        drive: None,
        media_type: "text/plain".into(),
        version: "1".into(),
        content_version: "1".into(),
        size: Some(10),
        modified_at: Timestamp::from_millis(1_750_000_000_000),
        url: None,
        owner: Some("Mara Lind".into()),
        is_trashed: false,
    }
}

impl ScriptedDrive {
    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, DriveScript> {
        self.0.lock().unwrap()
    }

    fn allowed(&self, access: &ProviderAccess) -> ConnectorResult<()> {
        assert!(
            access
                .token
                .as_ref()
                .is_some_and(|token| token.expose().starts_with("access-"))
        );
        self.script().failure.take().map_or(Ok(()), Err)
    }
}

fn unused<T>() -> ConnectorResult<T> {
    Err(ConnectorError::Fault("not asked for here".into()))
}

#[async_trait]
impl Connector for ScriptedDrive {
    fn provider(&self) -> Provider {
        Provider::CloudDrive
    }

    fn oauth_flow(&self) -> Option<&dyn OAuthFlow> {
        Some(self)
    }

    fn reports_changes(&self) -> bool {
        true
    }

    fn check_metadata(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn list_feeds(&self, _: &ProviderAccess) -> ConnectorResult<Vec<String>> {
        unused()
    }

    async fn current_cursor(&self, _: &ProviderAccess, _: &str) -> ConnectorResult<String> {
        unused()
    }

    async fn list_feed(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        unused()
    }

    async fn list_children(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        unused()
    }

    async fn list_changes(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: &str,
    ) -> ConnectorResult<ChangePage> {
        unused()
    }

    async fn get_item(
        &self,
        access: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>> {
        self.allowed(access)?;
        // `root` is an alias of this item.
        let id = if id == "root" { "f1" } else { id };
        Ok(TREE.into_iter().find(|entry| entry.0 == id).map(item))
    }

    async fn fetch_content(
        &self,
        _: &ProviderAccess,
        _: &ProviderItem,
        _: usize,
    ) -> ConnectorResult<ItemContent> {
        unused()
    }

    /// Returns two items a page. The page token is the position of the first.
    async fn list_selectable(
        &self,
        access: &ProviderAccess,
        view: &PickerView,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage> {
        self.allowed(access)?;
        if *view != PickerView::My {
            return Ok(ItemPage::default());
        }

        let first: usize = page
            .map_or(Ok(0), str::parse)
            .map_err(|_| ConnectorError::PageLost)?;
        let meant = |entry: &(&str, Option<&str>, &str, bool)| match query {
            Some(words) => entry.2.contains(words),
            None => entry.1 == parent,
        };

        let items: Vec<ProviderItem> = TREE.into_iter().filter(meant).map(item).collect();
        let next = (items.len() > first + 2).then(|| (first + 2).to_string());

        Ok(ItemPage {
            items: items.into_iter().skip(first).take(2).collect(),
            next,
            is_incomplete: false,
        })
    }

    async fn watch_feed(
        &self,
        _: &ProviderAccess,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
    ) -> ConnectorResult<Option<NotificationSubscription>> {
        unused()
    }

    async fn stop_watching(&self, _: &ProviderAccess, _: &str, _: &str) -> ConnectorResult<()> {
        unused()
    }
}

#[async_trait]
impl OAuthFlow for ScriptedDrive {
    fn operator_client(&self) -> Option<OAuthClient> {
        let app = OAuthAppRef::Operator {
            client_id: CLIENT.into(),
        };
        Some(OAuthClient {
            app,
            secret: Secret::new("app-secret"),
        })
    }

    fn consent_url(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
    ) -> ConnectorResult<String> {
        self.script()
            .consent_requests
            .insert(consent.state.clone(), consent.clone());
        Ok(format!(
            "https://drive.test/auth?client_id={}&state={}",
            client.app.client_id(),
            consent.state
        ))
    }

    async fn exchange_code(
        &self,
        _: &OAuthClient,
        consent: &ConsentRequest,
        code: &Secret,
        now: Timestamp,
    ) -> Result<GrantedPermission, ConsentError> {
        let mut script = self.script();
        // Values that were derived from the browser's secret have to be the same again.
        let consent_request = script
            .consent_requests
            .get(&consent.state)
            .expect("a question");
        assert_eq!(
            (&consent_request.nonce, &consent_request.redirect_uri),
            (&consent.nonce, &consent.redirect_uri)
        );
        assert_eq!(consent_request.verifier, consent.verifier);
        assert_eq!(code.expose(), "code");
        let subject = if script.answers.is_empty() {
            "mara"
        } else {
            script.answers.remove(0)?
        };

        script.grant_count += 1;
        Ok(GrantedPermission {
            account: ProviderAccount {
                subject: subject.into(),
                email: Some(format!("{subject}<i>@example.com")),
            },
            tokens: OAuthTokens {
                access: Secret::new(format!("access-{}", script.grant_count)),
                access_until: now.plus_seconds(3600),
                refresh: Secret::new(format!("refresh-{subject}-{}", script.grant_count)),
                refresh_until: None,
            },
        })
    }

    async fn refresh_tokens(
        &self,
        client: &OAuthClient,
        tokens: &OAuthTokens,
        now: Timestamp,
    ) -> ConnectorResult<OAuthTokens> {
        let (joined, number) = {
            let mut script = self.script();
            script.refreshed_by.push(client.secret.expose().to_owned());
            (script.joined.take(), script.refreshed_by.len())
        };

        if let Some((ctx, tenant, id, connection)) = joined {
            let mut grant = ctx
                .connections
                .get_grant(&tenant, &id)
                .await
                .unwrap()
                .unwrap();
            grant.connections.insert(connection);
            grant.rev += 1;
            assert!(ctx.connections.save_grant(&tenant, &grant).await.unwrap());
        }

        let access = Secret::new(format!("access-renewed-{number}"));
        Ok(OAuthTokens {
            access,
            access_until: now.plus_seconds(3600),
            ..tokens.clone()
        })
    }

    async fn revoke_permission(&self, tokens: &OAuthTokens) -> ConnectorResult<()> {
        self.script()
            .revoked
            .push(tokens.refresh.expose().to_owned());
        Ok(())
    }
}
