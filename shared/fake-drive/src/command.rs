//! The functions of [`Admin`] as JSON for other processes: `POST /admin` with an object whose field
//! `do` names the command.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::Admin;
use crate::faults::Fault;
use crate::oauth::Consent;
use crate::quirks::Quirks;
use crate::world::{Body, Refused, Restrictions, Slide, Table};

/// A command to the drive, such as `{"do": "rename", "id": "1…", "name": "Plan B"}`. The answer is
/// `{"id": …}` of the created item, or the requested value.
#[derive(Debug, Deserialize)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[allow(
    missing_docs,
    reason = "the names are those of the methods of the handle"
)]
pub enum Command {
    Demo {},
    Account {
        email: String,
    },
    AddDrive {
        name: String,
        members: Vec<String>,
    },
    Join {
        drive: String,
        email: String,
    },
    Leave {
        drive: String,
        email: String,
    },
    RenameDrive {
        drive: String,
        name: String,
    },
    AddFolder {
        parent: String,
        name: String,
    },
    AddDoc {
        parent: String,
        name: String,
        markdown: String,
    },
    AddSheet {
        parent: String,
        name: String,
        tables: Vec<Table>,
    },
    AddSlides {
        parent: String,
        name: String,
        slides: Vec<Slide>,
    },
    AddText {
        parent: String,
        name: String,
        text: String,
    },
    AddFile {
        parent: String,
        name: String,
        media_type: String,
        base64: String,
    },
    AddShortcut {
        parent: String,
        name: String,
        target: String,
    },
    EditDoc {
        id: String,
        markdown: String,
    },
    EditSheet {
        id: String,
        tables: Vec<Table>,
    },
    EditSlides {
        id: String,
        slides: Vec<Slide>,
    },
    EditFile {
        id: String,
        media_type: String,
        base64: String,
    },
    Rename {
        id: String,
        name: String,
    },
    Move {
        id: String,
        parent: String,
    },
    Trash {
        id: String,
    },
    Untrash {
        id: String,
    },
    Remove {
        id: String,
    },
    Share {
        id: String,
        email: String,
    },
    Unshare {
        id: String,
        email: String,
    },
    ShareByLink {
        id: String,
        key: String,
    },
    Withhold {
        id: String,
        email: String,
    },
    GiveBack {
        id: String,
        email: String,
    },
    Restrict {
        id: String,
        restrictions: Restrictions,
    },
    Date {
        id: String,
        modified: i64,
    },
    View {
        id: String,
        email: String,
    },
    Plan {
        fault: Fault,
    },
    ClearPlans {},
    PlanConsent {
        consent: Consent,
    },
    AlwaysConsent {
        consent: Option<Consent>,
    },
    WithoutRefreshToken {
        times: u32,
    },
    Revoke {
        email: String,
    },
    ExpireAccessTokens {},
    Quirks {
        quirks: Quirks,
    },
    AdvanceSeconds {
        seconds: i64,
    },
    AccessToken {
        email: String,
    },
    AddClient {
        id: String,
        secret: String,
        redirects: Vec<String>,
    },
    RemoveClient {
        id: String,
    },
    QuotaUnits {},
    Requests {},
    ClearRequests {},
    Deliveries {},
    Channels {},
    Named {
        name: String,
    },
}

type Given = Result<Value, Refused>;

impl Admin {
    /// Runs a command.
    ///
    /// # Errors
    /// Fails as the method of the same name does.
    pub fn run(&self, command: Command) -> Given {
        use Command as C;
        match command {
            C::Demo {} => crate::demo::fill(self).map(|demo| json!(demo)),
            C::Account { email } => Ok(json!({ "root": self.account(&email).root() })),
            C::AddDrive { name, members } => {
                let members: Vec<_> = members.iter().map(String::as_str).collect();
                made(Ok(self.add_drive(&name, &members)))
            }

            C::Join { drive, email } => done(self.join(&drive, &email)),
            C::Leave { drive, email } => done(self.leave(&drive, &email)),
            C::RenameDrive { drive, name } => done(self.rename_drive(&drive, &name)),
            C::Rename { id, name } => done(self.rename(&id, &name)),
            C::Move { id, parent } => done(self.move_to(&id, &parent)),
            C::Trash { id } => done(self.trash(&id)),
            C::Untrash { id } => done(self.untrash(&id)),
            C::Remove { id } => done(self.remove(&id)),
            C::Share { id, email } => done(self.share(&id, &email)),
            C::Unshare { id, email } => done(self.unshare(&id, &email)),
            C::ShareByLink { id, key } => done(self.share_by_link(&id, &key)),
            C::Withhold { id, email } => done(self.withhold(&id, &email)),
            C::GiveBack { id, email } => done(self.give_back(&id, &email)),
            C::Restrict { id, restrictions } => done(self.restrict(&id, restrictions)),
            C::Date { id, modified } => done(self.date(&id, modified)),
            C::View { id, email } => done(self.view(&id, &email)),
            other => self.run_content(other),
        }
    }

    /// Runs the commands about content.
    fn run_content(&self, command: Command) -> Given {
        use Command as C;
        match command {
            C::AddFolder { parent, name } => made(self.add_folder(&parent, &name)),
            C::AddDoc {
                parent,
                name,
                markdown,
            } => made(self.add_doc(&parent, &name, &markdown)),
            C::AddSheet {
                parent,
                name,
                tables,
            } => made(self.add_sheet(&parent, &name, tables)),
            C::AddSlides {
                parent,
                name,
                slides,
            } => made(self.add_slides(&parent, &name, slides)),
            C::AddText { parent, name, text } => {
                made(self.add_file(&parent, &name, "text/plain", text))
            }
            C::AddFile {
                parent,
                name,
                media_type,
                base64,
            } => made(self.add_file(&parent, &name, &media_type, bytes(&base64)?)),
            C::AddShortcut {
                parent,
                name,
                target,
            } => made(self.add_shortcut(&parent, &name, &target)),
            C::EditDoc { id, markdown } => done(self.edit(&id, Body::Doc(markdown))),
            C::EditSheet { id, tables } => done(self.edit(&id, Body::Sheet(tables))),
            C::EditSlides { id, slides } => done(self.edit(&id, Body::Slides(slides))),
            C::EditFile {
                id,
                media_type,
                base64,
            } => {
                let bytes = bytes(&base64)?;
                done(self.edit(&id, Body::Bytes { media_type, bytes }))
            }

            other => Ok(self.run_plan(other)),
        }
    }

    /// Runs the commands about the behaviour of the drive and what it recorded.
    fn run_plan(&self, command: Command) -> Value {
        use Command as C;
        match command {
            C::Plan { fault } => self.plan(fault),
            C::ClearPlans {} => self.clear_plans(),
            C::PlanConsent { consent } => self.plan_consent(consent),
            C::AlwaysConsent { consent } => self.always_consent(consent),
            C::WithoutRefreshToken { times } => self.without_refresh_token(times),
            C::Revoke { email } => self.revoke(&email),
            C::ExpireAccessTokens {} => self.expire_access_tokens(),
            C::Quirks { quirks } => self.set_quirks(|old| *old = quirks),
            C::AdvanceSeconds { seconds } => self.advance_seconds(seconds),
            C::AddClient {
                id,
                secret,
                redirects,
            } => {
                let redirects: Vec<_> = redirects.iter().map(String::as_str).collect();
                self.add_client(&id, &secret, &redirects);
            }
            C::RemoveClient { id } => self.remove_client(&id),
            C::ClearRequests {} => self.clear_requests(),
            C::AccessToken { email } => return json!({ "accessToken": self.access_token(&email) }),
            C::QuotaUnits {} => return json!(self.all_quota_units()),
            C::Requests {} => return json!(self.requests()),
            C::Deliveries {} => return json!(self.deliveries()),
            C::Channels {} => return json!(self.channels()),
            C::Named { name } => return json!(self.named(&name)),
            _ => {}
        }

        json!({})
    }
}

fn done(result: Result<(), Refused>) -> Given {
    result.map(|()| json!({}))
}

fn made(result: Result<String, Refused>) -> Given {
    result.map(|id| json!({ "id": id }))
}

fn bytes(base64: &str) -> Result<Bytes, Refused> {
    STANDARD
        .decode(base64)
        .map(Bytes::from)
        .map_err(|error| Refused(error.to_string()))
}
