//! A connector whose answers a test can script.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::connection::{Account, AppRef, Provider, Tokens};
use domain::ports::{
    Access, Changes, Connector, ConnectorError, ConnectorResult, Consent, ConsentError, Fetched,
    Item, ItemKind, Listing, OAuth, OAuthClient, Permission, View, Watched,
};
use domain::{ConnectionId, Ctx, GrantId, Metadata, Secret, Tenant, Timestamp};

/// The scripted answers of the drive, and a record of the requests to it.
#[derive(Default)]
pub(super) struct DriveScript {
    /// The outcomes of the next codes. Without an entry, the account gives permission.
    pub(super) answers: Vec<Result<&'static str, ConsentError>>,
    /// The requests for consent, by state.
    pub(super) asked: HashMap<String, Consent>,
    /// The refresh tokens that were revoked.
    pub(super) revoked: Vec<String>,
    /// The failure of the next request to the drive.
    pub(super) failure: Option<ConnectorError>,
    /// The number of permissions given so far.
    given: u32,
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

fn item((id, parent, name, folder): (&str, Option<&str>, &str, bool)) -> Item {
    Item {
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
        mark: "1".into(),
        size: Some(10),
        modified_at: Timestamp::from_millis(1_750_000_000_000),
        url: None,
        owner: Some("Mara Lind".into()),
        trashed: false,
    }
}

impl ScriptedDrive {
    pub(super) fn script(&self) -> std::sync::MutexGuard<'_, DriveScript> {
        self.0.lock().unwrap()
    }

    fn allowed(&self, access: &Access) -> ConnectorResult<()> {
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

    fn oauth(&self) -> Option<&dyn OAuth> {
        Some(self)
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn check(&self, _: &Metadata) -> Result<(), String> {
        Ok(())
    }

    async fn feeds(&self, _: &Access) -> ConnectorResult<Vec<String>> {
        unused()
    }

    async fn head(&self, _: &Access, _: &str) -> ConnectorResult<String> {
        unused()
    }

    async fn everything(&self, _: &Access, _: &str, _: Option<&str>) -> ConnectorResult<Listing> {
        unused()
    }

    async fn children(
        &self,
        _: &Access,
        _: &str,
        _: Option<&str>,
        _: Option<&str>,
    ) -> ConnectorResult<Listing> {
        unused()
    }

    async fn changes(&self, _: &Access, _: &str, _: &str) -> ConnectorResult<Changes> {
        unused()
    }

    async fn stat(&self, access: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        self.allowed(access)?;
        // `root` is an alias of this item.
        let id = if id == "root" { "f1" } else { id };
        Ok(TREE.into_iter().find(|entry| entry.0 == id).map(item))
    }

    async fn fetch(&self, _: &Access, _: &Item, _: usize) -> ConnectorResult<Fetched> {
        unused()
    }

    /// Returns two items a page. The page token is the position of the first.
    async fn browse(
        &self,
        access: &Access,
        view: &View,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing> {
        self.allowed(access)?;
        if *view != View::My {
            return Ok(Listing::default());
        }

        let first: usize = page
            .map_or(Ok(0), str::parse)
            .map_err(|_| ConnectorError::PageLost)?;
        let meant = |entry: &(&str, Option<&str>, &str, bool)| match query {
            Some(words) => entry.2.contains(words),
            None => entry.1 == parent,
        };

        let all: Vec<Item> = TREE.into_iter().filter(meant).map(item).collect();
        let next = (all.len() > first + 2).then(|| (first + 2).to_string());

        Ok(Listing {
            items: all.into_iter().skip(first).take(2).collect(),
            next,
            incomplete: false,
        })
    }

    async fn watch(
        &self,
        _: &Access,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
    ) -> ConnectorResult<Option<Watched>> {
        unused()
    }

    async fn unwatch(&self, _: &Access, _: &str, _: &str) -> ConnectorResult<()> {
        unused()
    }
}

#[async_trait]
impl OAuth for ScriptedDrive {
    fn operator(&self) -> Option<OAuthClient> {
        let app = AppRef::Operator {
            client_id: CLIENT.into(),
        };
        Some(OAuthClient {
            app,
            secret: Secret::new("app-secret"),
        })
    }

    fn consent_url(&self, client: &OAuthClient, consent: &Consent) -> ConnectorResult<String> {
        self.script()
            .asked
            .insert(consent.state.clone(), consent.clone());
        Ok(format!(
            "https://drive.test/auth?client_id={}&state={}",
            client.app.client_id(),
            consent.state
        ))
    }

    async fn exchange(
        &self,
        _: &OAuthClient,
        consent: &Consent,
        code: &Secret,
        now: Timestamp,
    ) -> Result<Permission, ConsentError> {
        let mut script = self.script();
        // Values that were derived from the browser's secret have to be the same again.
        let asked = script.asked.get(&consent.state).expect("a question");
        assert_eq!(
            (&asked.nonce, &asked.redirect_uri),
            (&consent.nonce, &consent.redirect_uri)
        );
        assert_eq!(asked.verifier, consent.verifier);
        assert_eq!(code.expose(), "code");
        let subject = if script.answers.is_empty() {
            "mara"
        } else {
            script.answers.remove(0)?
        };

        script.given += 1;
        Ok(Permission {
            account: Account {
                subject: subject.into(),
                email: Some(format!("{subject}<i>@example.com")),
            },
            tokens: Tokens {
                access: Secret::new(format!("access-{}", script.given)),
                access_until: now.plus_seconds(3600),
                refresh: Secret::new(format!("refresh-{subject}-{}", script.given)),
                refresh_until: None,
            },
        })
    }

    async fn refresh(
        &self,
        client: &OAuthClient,
        tokens: &Tokens,
        now: Timestamp,
    ) -> ConnectorResult<Tokens> {
        let (joined, number) = {
            let mut script = self.script();
            script.refreshed_by.push(client.secret.expose().to_owned());
            (script.joined.take(), script.refreshed_by.len())
        };

        if let Some((ctx, tenant, id, connection)) = joined {
            let mut grant = ctx.connections.grant(&tenant, &id).await.unwrap().unwrap();
            grant.connections.insert(connection);
            grant.rev += 1;
            assert!(ctx.connections.save_grant(&tenant, &grant).await.unwrap());
        }

        let access = Secret::new(format!("access-renewed-{number}"));
        Ok(Tokens {
            access,
            access_until: now.plus_seconds(3600),
            ..tokens.clone()
        })
    }

    async fn revoke(&self, tokens: &Tokens) -> ConnectorResult<()> {
        self.script()
            .revoked
            .push(tokens.refresh.expose().to_owned());
        Ok(())
    }
}
