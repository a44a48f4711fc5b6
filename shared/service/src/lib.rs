//! The use cases of the service, each a function over the ports in a [`Ctx`]. Where a step may be
//! repeated, its documentation names the write that makes the repetition harmless.

mod analytics;
mod authentication;
mod backlog;
mod buckets;
mod caps;
mod commit;
mod connections;
mod containers;
mod counts;
mod ctx;
mod damage;
mod describe;
mod erasure_report;
mod export;
mod files;
mod find;
mod hints;
mod import;
mod items;
mod jobs;
mod list;
mod manage_keys;
mod memories;
mod merge;
mod open;
mod orphans;
mod place;
mod purge;
mod rate;
mod remove;
mod repeated;
mod reset;
mod results;
mod retry;
mod revise;
mod settings;
mod sharing;
mod submit;
mod tasks;
mod texts;
mod update;

pub use analytics::{
    RequestFilter, RequestPage, count_on, find_request, list_requests, read_tallies,
};
pub use authentication::{Authenticator, LOCAL_KEY};
pub use backlog::{Backlog, MAX_UNFINISHED};
pub use buckets::{list_buckets, remove_buckets, set_buckets};
pub use caps::OrganizationCaps;
pub use commit::{Committed, commit_changes, try_commit_changes};
pub use connections::{
    ConsentAnswer, ConsentInvitation, ConsentLink, ConsentOutcome, ConsentRefusal,
    CreatedConnection, ImportOutcome, NewConnection, PICKER_SESSION_SECONDS, PickerLocation,
    PickerSession, TicketKind, TicketValue, accept_consent, begin_consent, browse_items,
    change_connection, change_document_limit, count_left_out_items, create_connection,
    delete_connection, delete_connection_of, delete_connections, derive_token, end_picker_session,
    enter_picker, find_connection, find_connection_of, find_connections, find_picker_session,
    handle_notification, is_token, issue_ticket, item_state_name, list_items,
    list_synced_documents, open_consent_link, open_picker, open_session_after_consent,
    provider_access, random_token, reconnect_connection, renew_provider_access, request_import,
    resolve_selected_items, save_selection, update_connection,
};
pub use containers::{MergePlan, change_container, delete_container, merge_containers, plan_merge};
pub use counts::{
    ContainerSize, EXACT_COUNT_LIMIT, QUICK_COUNT_LIMIT, count_documents, measure_container,
    read_heads,
};
pub use ctx::Ctx;
pub use damage::{DocumentDamage, RepairOutcome, inspect_document, repair_document, report_damage};
pub use describe::DocumentDescription;
pub use erasure_report::{
    ErasedStore, ErasureReport, PublicKey, SignedErasureReport, sign_erasure_report,
    verify_erasure_report,
};
pub use export::{
    BodyCopy, ContainerCopy, CopyOutcome, DocumentCopy, ServedCopy, SharedContainerCopy,
    StatementsCopy, copy_container, copy_document,
};
pub use files::{PendingUpload, accept_file, begin_upload, file_download_url, protect_file};
pub use find::{
    ContainerScope, DocumentNameKind, MAX_CONTAINERS_WITHOUT_TAG,
    add_documents_with_same_custom_ids, find_containers, find_document, find_documents,
    find_existing_container, find_first_containers, find_writable_container, read_document_text,
    read_present_tags, read_served_pack, set_present_tags,
};
pub use hints::{explain_empty_list, explain_empty_result, join_reasons};
pub use import::{ImportCounts, check_still_importable, import_container, import_documents};
pub use items::{
    ItemDocument, file_item, item_custom_id, item_document_id, refile_item, release_claim,
    release_item,
};
pub use jobs::request_compaction;
pub use list::{
    DocumentPage, LIST_PART_SIZE, ListQuery, ServedDocuments, SortBy, SortKey, SortTime,
    list_documents, path_matches,
};
pub use manage_keys::{
    AgentKeySpec, CONSOLE_SESSION_SECONDS, ScopedKeySpec, create_agent_key, create_key,
    create_scoped_key, delete_key, end_console_session, end_session, expires_at, list_keys,
    open_console_session, open_session, set_key_enabled, toggle_key,
};
pub use memories::{CLIENT_EXTRACTOR, apply_memory_edits, write_memories};
pub use merge::{MergeOverlap, preview_merge};
pub use open::{create_container, open_container};
pub use orphans::{collect_orphans, delete_orphans, find_orphans};
pub use rate::{RateLimitName, check_rate_limit};
pub use remove::{TagsRemoval, remove_documents, remove_documents_of_tags};
pub use reset::{ResetCounts, reset_organization};
pub use results::{RevisionResults, StoredResults, store_all_results};
pub use retry::ConflictRetry;
pub use revise::AcceptedDocument;
pub use settings::{change_settings, reset_settings, update_settings};
pub use submit::{Content, NewDocument, Upsert, submit_document, submit_documents};
pub use tasks::run_task;
pub use texts::read_document_texts;
pub use update::{
    DocumentUpdate, find_served_document, replace_vectors, retry_document, update_document,
};
