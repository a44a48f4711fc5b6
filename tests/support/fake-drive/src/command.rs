//! The functions of [`DriveAdmin`] as JSON for other processes: `POST /admin` with an object whose
//! field `do` names the command.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::DriveAdmin;
use crate::drive_contents::{EditRefused, FakeContent, Restrictions, SheetTable, Slide};
use crate::faults::PlannedFault;
use crate::oauth::ConsentDecision;
use crate::quirks::Quirks;

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
pub enum AdminCommand {
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
        tables: Vec<SheetTable>,
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
        tables: Vec<SheetTable>,
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
        fault: PlannedFault,
    },
    ClearPlans {},
    PlanConsent {
        consent: ConsentDecision,
    },
    AlwaysConsent {
        consent: Option<ConsentDecision>,
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

type CommandResult = Result<Value, EditRefused>;

impl DriveAdmin {
    /// Runs a command.
    ///
    /// # Errors
    /// Fails as the method of the same name does.
    pub fn run_command(&self, command: AdminCommand) -> CommandResult {
        use AdminCommand as C;
        match command {
            C::Demo {} => crate::demo::build_document(self).map(|demo| json!(demo)),
            C::Account { email } => {
                Ok(json!({ "root": self.get_or_create_account(&email).root() }))
            }
            C::AddDrive { name, members } => {
                let members: Vec<_> = members.iter().map(String::as_str).collect();
                created_result(Ok(self.create_shared_drive(&name, &members)))
            }

            C::Join { drive, email } => empty_result(self.add_member(&drive, &email)),
            C::Leave { drive, email } => empty_result(self.remove_member(&drive, &email)),
            C::RenameDrive { drive, name } => empty_result(self.rename_drive(&drive, &name)),
            C::Rename { id, name } => empty_result(self.rename_item(&id, &name)),
            C::Move { id, parent } => empty_result(self.move_item(&id, &parent)),
            C::Trash { id } => empty_result(self.trash_item(&id)),
            C::Untrash { id } => empty_result(self.restore_item(&id)),
            C::Remove { id } => empty_result(self.delete_item(&id)),
            C::Share { id, email } => empty_result(self.share_item(&id, &email)),
            C::Unshare { id, email } => empty_result(self.unshare_item(&id, &email)),
            C::ShareByLink { id, key } => empty_result(self.share_by_link(&id, &key)),
            C::Withhold { id, email } => empty_result(self.hide_item(&id, &email)),
            C::GiveBack { id, email } => empty_result(self.unhide_item(&id, &email)),
            C::Restrict { id, restrictions } => {
                empty_result(self.set_restrictions(&id, restrictions))
            }
            C::Date { id, modified } => empty_result(self.set_modified_time(&id, modified)),
            C::View { id, email } => empty_result(self.record_view(&id, &email)),
            other => self.run_content_command(other),
        }
    }

    /// Runs the commands about content.
    fn run_content_command(&self, command: AdminCommand) -> CommandResult {
        use AdminCommand as C;
        match command {
            C::AddFolder { parent, name } => created_result(self.add_folder(&parent, &name)),
            C::AddDoc {
                parent,
                name,
                markdown,
            } => created_result(self.add_doc(&parent, &name, &markdown)),
            C::AddSheet {
                parent,
                name,
                tables,
            } => created_result(self.add_sheet(&parent, &name, tables)),
            C::AddSlides {
                parent,
                name,
                slides,
            } => created_result(self.add_slides(&parent, &name, slides)),
            C::AddText { parent, name, text } => {
                created_result(self.add_file(&parent, &name, "text/plain", text))
            }
            C::AddFile {
                parent,
                name,
                media_type,
                base64,
            } => created_result(self.add_file(&parent, &name, &media_type, decode_bytes(&base64)?)),
            C::AddShortcut {
                parent,
                name,
                target,
            } => created_result(self.add_shortcut(&parent, &name, &target)),
            C::EditDoc { id, markdown } => {
                empty_result(self.replace_content(&id, FakeContent::Doc(markdown)))
            }
            C::EditSheet { id, tables } => {
                empty_result(self.replace_content(&id, FakeContent::Sheet(tables)))
            }
            C::EditSlides { id, slides } => {
                empty_result(self.replace_content(&id, FakeContent::Slides(slides)))
            }
            C::EditFile {
                id,
                media_type,
                base64,
            } => {
                let bytes = decode_bytes(&base64)?;
                empty_result(self.replace_content(&id, FakeContent::Bytes { media_type, bytes }))
            }

            other => Ok(self.run_behaviour_command(other)),
        }
    }

    /// Runs the commands about the behaviour of the drive and what it recorded.
    fn run_behaviour_command(&self, command: AdminCommand) -> Value {
        use AdminCommand as C;
        match command {
            C::Plan { fault } => self.plan_fault(fault),
            C::ClearPlans {} => self.clear_planned_faults(),
            C::PlanConsent { consent } => self.plan_consent(consent),
            C::AlwaysConsent { consent } => self.set_default_consent(consent),
            C::WithoutRefreshToken { times } => self.withhold_refresh_tokens(times),
            C::Revoke { email } => self.revoke_permissions(&email),
            C::ExpireAccessTokens {} => self.expire_access_tokens(),
            C::Quirks { quirks } => self.set_quirks(|old| *old = quirks),
            C::AdvanceSeconds { seconds } => self.advance_clock(seconds),
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
            C::Requests {} => return json!(self.recorded_requests()),
            C::Deliveries {} => return json!(self.sent_notifications()),
            C::Channels {} => return json!(self.open_channel_ids()),
            C::Named { name } => return json!(self.find_by_name(&name)),
            _ => {}
        }

        json!({})
    }
}

fn empty_result(result: Result<(), EditRefused>) -> CommandResult {
    result.map(|()| json!({}))
}

fn created_result(result: Result<String, EditRefused>) -> CommandResult {
    result.map(|id| json!({ "id": id }))
}

fn decode_bytes(base64: &str) -> Result<Bytes, EditRefused> {
    STANDARD
        .decode(base64)
        .map(Bytes::from)
        .map_err(|error| EditRefused(error.to_string()))
}
