//! Connections: creating them, obtaining permission for them, selecting items, and deleting them.

mod attach;
mod change;
mod consent;
mod create;
mod failure;
mod grants;
mod manage;
mod notify;
mod overview;
mod picker;
mod provider_tokens;
mod selection;
mod tags;
mod tickets;

pub use change::{
    change_connection, find_connection, find_connection_of, find_connections, update_connection,
};
pub use consent::{
    ConsentAnswer, ConsentInvitation, ConsentOutcome, accept_consent, begin_consent,
    open_consent_link,
};
pub use create::{
    ConsentLink, CreatedConnection, NewConnection, create_connection, reconnect_connection,
};
pub use failure::ConsentRefusal;
pub use manage::{
    ImportOutcome, change_document_limit, delete_connection, delete_connection_of,
    delete_connections, request_import,
};
pub use notify::handle_notification;
pub use overview::{count_left_out_items, item_state_name, list_items, list_synced_documents};
pub use picker::{
    PICKER_SESSION_SECONDS, PickerSession, end_picker_session, enter_picker, find_picker_session,
    open_picker, open_session_after_consent,
};
pub use provider_tokens::{provider_access, renew_provider_access};
pub use selection::{PickerLocation, browse_items, resolve_selected_items, save_selection};
pub(crate) use tags::{end_connections, move_connections};
pub use tickets::{TicketKind, TicketValue, derive_token, is_token, issue_ticket, random_token};
