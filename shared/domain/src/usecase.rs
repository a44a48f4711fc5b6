//! The use cases of the service, each a function over a [`crate::Ctx`]. Where a step may be
//! repeated, its documentation names the write that makes the repetition harmless.

mod access;
mod analytics;
mod backlog;
mod caps;
mod connections;
mod containers;
mod counts;
mod damage;
mod describe;
mod export;
mod files;
mod find;
mod import;
mod items;
mod list;
mod manage_keys;
mod memories;
mod merge;
mod orphans;
mod place;
mod purge;
mod rate;
mod remove;
mod reset;
mod revise;
mod settings;
mod submit;
mod tasks;
mod update;

pub use access::Authenticator;
pub use analytics::{
    RequestFilter, RequestPage, Span, find_request, list_requests, read_tallies, tally_hour,
};
pub use backlog::{Backlog, MAX_UNFINISHED};
pub use caps::{Caps, create_container};
pub use connections::{
    Apps, ConsentAnswer, Consented, Created, Import, Invitation, NewConnection, PickerSession,
    Place, Refusal, SESSION_SECONDS, TicketFor, TicketKind, access, ask_for_consent, browse,
    change_connection, complete_choices, create_connection, delete_connection, delete_connections,
    derived_token, end_picker, enter_picker, find_connection, find_connections, import_now,
    is_token, issue_ticket, left_out_by_limit, limit_documents, list_items, list_synced, notified,
    oauth_client, open_link, open_picker, picker_session, random_token, reconnect, renew_access,
    save_selection, session_after_consent, state_name, take_consent, token_digest,
};
pub use containers::{MergePlan, change_container, delete_container, merge_containers, plan_merge};
pub use counts::{COUNTED_AT_ONCE, COUNTED_EXACTLY, Size, count_documents, measure_container};
pub use damage::{Damage, Healed, heal_document, inspect, report_damage};
pub use describe::Description;
pub use export::{
    BodyCopy, ContainerCopy, Copied, DocumentCopy, LearnedCopy, ServedCopy, copy_document,
};
pub use files::{Upload, begin_upload, file_arrived, file_url, keep_file};
pub use find::{
    Naming, Scope, containers, find_document, find_documents, present_tag, read_chunks, read_text,
    with_same_custom_ids,
};
pub use import::{Imported, import_container, import_documents};
pub use items::{
    ItemDocument, custom_id_of, file_item, item_document, refile_item, release_item, unclaim_item,
};
pub use list::{ListQuery, Page, Sort, list_documents, path_matches};
pub use manage_keys::{
    AgentKey, ScopedKey, create_agent_key, create_key, create_scoped_key, delete_key, end_session,
    expiry, list_keys, open_session, set_key_enabled, toggle_key,
};
pub use memories::{
    CLIENT, act_on_memories, existing_container, writable_container, write_memories,
};
pub use merge::{Overlap, preview_merge, superseded_documents};
pub use orphans::{ORPHAN_SECONDS, collect_orphans, delete_orphans, find_orphans};
pub use rate::admit;
pub use remove::{after_commit, remove_documents};
pub use reset::{Reset, reset_organization};
pub use settings::{change_settings, reset_settings, update_settings};
pub use submit::{Accepted, Content, NewDocument, submit, submit_all};
pub use tasks::run_task;
pub use update::{Update, retry_document, update_document};
