//! Connections: creating them, obtaining permission for them, selecting items, and deleting them.

mod access;
mod change;
mod consent;
mod create;
mod failure;
mod grants;
mod manage;
mod notify;
mod overview;
mod picker;
mod selection;
mod settle;
mod tags;
mod tickets;

pub use access::{Apps, access, oauth_client, renew_access};
pub use change::{change_connection, find_connection, find_connections};
pub use consent::{
    ConsentAnswer, Consented, Invitation, Refusal, ask_for_consent, open_link, take_consent,
};
pub use create::{Created, NewConnection, create_connection, reconnect};
pub use manage::{Import, delete_connection, delete_connections, import_now, limit_documents};
pub use notify::notified;
pub use overview::{left_out_by_limit, list_items, list_synced, state_name};
pub use picker::{
    PickerSession, SESSION_SECONDS, end_picker, enter_picker, open_picker, picker_session,
    session_after_consent,
};
pub use selection::{Place, browse, complete_choices, save_selection};
pub(crate) use tags::{end_connections, move_connections};
pub use tickets::{
    TicketFor, TicketKind, derived_token, is_token, issue_ticket, random_token, token_digest,
};
